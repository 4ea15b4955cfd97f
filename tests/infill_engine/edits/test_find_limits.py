"""What keeps an edit from having consequences: typing, size, broken text, and other languages."""

import pytest
from marked_edits import edited, results

from infill_engine.edits.changes import Shift
from infill_engine.edits.find import find_consequences
from infill_engine.edits.types import EditedText, MayAsk, NoEditReason, applied


def test_one_call_that_cannot_be_followed_leaves_the_others_alone() -> None:
    assert find_consequences(edited("def f(a[[, b -> ]]): pass\nf(1, 2)\nf(*args)\n")).proposals == ()


def test_methods_on_objects_of_an_unknown_class_come_second() -> None:
    edit = edited("class A:\n    def [[go -> run]](self): pass\n    def f(self): self.go()\nx.go()\n")
    found = find_consequences(edit, show_from=0)
    assert [len(proposal.edits) for proposal in found.proposals] == [1, 2]


def test_nothing_is_proposed_where_the_user_types() -> None:
    edit = edited("def f([[a -> b]]):\n    return a\n")
    at = edit.after.index("return a") + 8
    assert find_consequences(EditedText(edit.before, edit.after, edit.changes, "python", at)).proposals == ()


@pytest.mark.parametrize(
    ("marked", "reason"),
    [
        ("[[ -> " + "x = 1\n" * 200 + "]]", NoEditReason.BULK),
        ("".join(f"[[a{n} -> b]] = 1\n" for n in range(20)), NoEditReason.BULK),
        ("x = 1\n[[ -> \n]]", NoEditReason.NO_CONSEQUENCE),
        ("x = 1\n", NoEditReason.NO_CONSEQUENCE),
    ],
)
def test_large_and_empty_changes(marked: str, reason: NoEditReason) -> None:
    assert find_consequences(edited(marked)).reason is reason


# what was changed, in which language, and why nothing follows
UNFOLLOWED = [
    ("def f(a, b):\n    [[x -> y]] = a\n    y = b\n    return x + y\n", "python", NoEditReason.AMBIGUOUS),
    ("function f(a, b) {\n  let [[x -> b]] = a;\n  return x + b;\n}\n", "javascript", NoEditReason.AMBIGUOUS),
    ("func f(a int) int {\n\t[[x -> a]] := 1\n\treturn x + a\n}\n", "go", NoEditReason.AMBIGUOUS),
    ("fn f(a: i32) -> i32 {\n    let [[x -> a]] = 1;\n    x + a\n}\n", "rust", NoEditReason.AMBIGUOUS),
    ("def f(a):\n    x = g([[a -> (a]])\n    return x\n", "python", NoEditReason.HALF_WRITTEN),
    ("int f(int a) {\n    return g([[a -> (a]]);\n}\n", "c", NoEditReason.HALF_WRITTEN),
    ("def f(a)\n  g([[a -> (a]])\nend\n", "ruby", NoEditReason.HALF_WRITTEN),
    ("local x = f([[1 -> (1]])\n", "lua", NoEditReason.HALF_WRITTEN),
    ("def f(a):\n    [[x -> y]] = a\n    return a\n", "python", NoEditReason.NO_CONSEQUENCE),
]


@pytest.mark.parametrize(("marked", "language", "reason"), UNFOLLOWED)
def test_the_reason_says_whether_something_was_left(marked: str, language: str, reason: NoEditReason) -> None:
    found = find_consequences(edited(marked, language))
    assert (found.proposals, found.reason) == ((), reason)


@pytest.mark.parametrize(
    ("marked", "may_ask"),
    [
        ("x = f([[1 -> 2]])\n", MayAsk.MODEL),
        ("x = f([[1 -> (1]])\n", MayAsk.LINE),
        ("x = 1  # [[one -> two]]\n", MayAsk.NOBODY),
        ("x = [[1 ->  1]]\n", MayAsk.NOBODY),
    ],
)
def test_who_may_be_asked_next(marked: str, may_ask: MayAsk) -> None:
    assert find_consequences(edited(marked)).may_ask is may_ask


def test_a_language_without_a_query() -> None:
    assert find_consequences(edited("[[a -> b]] = 1", "plaintext")).reason is NoEditReason.UNSUPPORTED


LONG = "def other_{0}(value):\n    return value + {0}\n\n\n"


def test_a_long_document_is_looked_at_around_the_edit() -> None:
    filler = "".join(LONG.format(n) for n in range(3000))
    local = filler + "def f([[size -> width]]):\n    return size\n\n\n" + filler
    edit = edited(local)
    found = find_consequences(edit)
    assert results(edit, found) == [edit.after.replace("return size", "return width")]


def test_what_may_reach_beyond_the_excerpt_is_not_proposed() -> None:
    filler = "".join(LONG.format(n) for n in range(3000))
    edit = edited("f(1)\n" + filler + "def [[f -> g]](size):\n    return size\nf(2)\n" + filler)
    assert find_consequences(edit).reason is NoEditReason.TOO_LARGE


def test_broken_text_elsewhere_does_not_keep_a_name_from_following() -> None:
    edit = edited("def f([[a -> b]]):\n    return a\n\n\ndef g(:\n    pass\n")
    found = find_consequences(edit)
    assert results(edit, found)[0] == edit.after.replace("return a", "return b")


def test_edits_are_made_together_or_not_at_all() -> None:
    edit = edited("def f([[a -> b]]):\n    return a\n")
    edits = find_consequences(edit).proposals[0].edits
    assert applied(edit.after.replace("return a", "return  a"), edits) is None


def test_a_span_carried_across_changes() -> None:
    edit = edited("[[a -> abc]] b [[c -> ]] d")
    shift = Shift(edit.changes)
    assert shift.span(6, 7) == (7, 8)
    assert edit.after[7:8] == "d"


def test_a_text_that_is_broken_throughout_is_read_as_far_as_possible() -> None:
    edit = edited('f() {\n  [[padding -> margin]]=1\n  case "$a" in\n', "shellscript")
    assert find_consequences(edit).reason is not None

"""What the server does with edits: bursts, silence, proposals that are carried along, taken and dismissed."""

import asyncio
import re
from itertools import pairwise

import pytest
from desk import PROGRAM, URI, Desk, labels
from hypothesis import given, settings
from hypothesis import strategies as st

from infill_engine.budget.deadline import now
from infill_engine.edits.types import Consequences, Edit, Kind, NoEditReason, Proposal, Span, applied
from lsp_server.documents.snapshots import change_to
from lsp_server.suggestions.next_edits.bursts import offset, place_at


def test_a_name_typed_letter_by_letter_is_one_edit() -> None:
    desk = Desk()
    assert desk.ask().reason is NoEditReason.NOTHING_EDITED
    desk.replace("width", "breadth")
    found = desk.ask()
    assert labels(found) == ["rename 1 more use"]
    desk.accept(found.proposals[0])
    assert desk.text == PROGRAM.replace("width", "breadth")
    assert desk.ask().proposals == ()


def test_a_name_that_is_typed_on_replaces_what_was_proposed() -> None:
    desk = Desk()
    desk.replace("width", "br")
    assert [edit.new for edit in desk.ask().proposals[0].proposal.edits] == ["br"]
    at = desk.text.index("br") + 2
    desk.change((at, at, "eadth"))
    assert [edit.new for edit in desk.ask().proposals[0].proposal.edits] == ["breadth"]


def test_an_edit_elsewhere_moves_what_is_shown() -> None:
    desk = Desk()
    desk.replace("self, size", "self, length")
    found = desk.ask()
    desk.change((0, 0, "import os\n"))
    again = desk.ask()
    assert [shown.id for shown in again.proposals] == [shown.id for shown in found.proposals]
    assert desk.text[again.proposals[0].proposal.edits[0].span.start :].startswith("size")


def test_an_edit_at_a_shown_place_withdraws_it() -> None:
    desk = Desk()
    desk.replace("width", "breadth")
    assert desk.ask().proposals
    at = desk.text.index("width") + 3
    desk.change((at, at, "x"))
    assert desk.ask().proposals == ()


def test_a_place_done_by_hand_leaves_the_others() -> None:
    desk = Desk("def f(a):\n    x = a\n\n\n    y = a\n")
    desk.replace("a", "b")
    assert labels(desk.ask()) == ["rename 2 more uses"]
    at = desk.text.index("a")
    desk.change((at, at + 1, "b"))
    assert labels(desk.ask()) == ["rename 1 more use"]


def test_the_next_proposal_follows_when_one_was_taken() -> None:
    desk = Desk()
    at = desk.text.index("colour)")
    desk.change((at + 6, at + 6, ", weight"))
    found = desk.ask()
    assert labels(found)[0] == "keep weight in a field"
    desk.accept(found.proposals[0])
    assert labels(desk.ask())[0] == "pass weight in 2 calls"


def test_what_was_taken_may_have_consequences_of_its_own() -> None:
    desk = Desk("class A:\n    def __init__(self, a):\n        self.a = a\n\n\nx = A(1)\n")
    at = desk.text.index("= a\n") + 4
    desk.change((at, at, "        self.b = b\n"))
    found = desk.ask()
    assert labels(found) == ["add b to the constructor"]
    desk.accept(found.proposals[0])
    assert labels(desk.ask()) == ["pass b in 1 call"]


OTHER = "file:///project/b.py"
READS = "".join(f"part{number} = requests.get(path{number})\nshow(part{number})\n\n" for number in range(4))


def test_places_of_the_shape_of_an_edit_follow_one_by_one_or_all_together() -> None:
    desk = Desk(READS)
    desk.replace("requests", "client")
    found = desk.ask()
    assert [(shown.proposal.kind, len(shown.proposal.edits)) for shown in found.proposals] == [
        (Kind.SIMILAR_PLACE, 1),
        (Kind.SIMILAR_PLACE, 3),
    ]
    desk.accept(found.proposals[0])
    assert "part1 = client.get(path1)" in desk.text
    found = desk.ask()
    assert labels(found) == ["change 2 similar places"]
    desk.accept(found.proposals[0])
    assert desk.text == READS.replace("requests", "client")
    assert desk.ask().proposals == ()


def edit_elsewhere(desk: Desk) -> None:
    """Replace a name twice in another document."""
    desk.documents.open(OTHER, "python", "first = requests.get(path)\nsecond = requests.get(place)\n")
    desk.seconds = now()
    desk.edit(OTHER, (8, 16, "client"))
    desk.edit(OTHER, (34, 42, "client"))


def test_an_edit_of_another_file_is_repeated_in_one_that_was_only_opened() -> None:
    desk = Desk(READS)
    assert desk.ask().reason is NoEditReason.NOTHING_EDITED
    edit_elsewhere(desk)
    found = desk.ask()
    assert [len(shown.proposal.edits) for shown in found.proposals] == [1, 4]
    desk.accept(found.proposals[1])
    assert desk.text == READS.replace("requests", "client")
    assert desk.ask().proposals == ()


def test_the_edits_of_a_closed_file_are_repeated_unless_it_is_opened_again() -> None:
    desk = Desk(READS)
    edit_elsewhere(desk)
    desk.log.closed(OTHER)
    assert desk.ask().proposals
    desk.log.opened(OTHER)  # perhaps without the changes
    desk.log.opened(URI)
    assert desk.ask().reason is NoEditReason.NOTHING_EDITED


SHOP = "class Shop(ABC):\n    @abstractmethod\n    def price(self, id): ...\n"
ADDED = "\n    @abstractmethod\n    def stock(self, id): ...\n"
STORE = "class Store(Shop):\n    def price(self, id):\n        return 1\n"


def add_method_elsewhere(desk: Desk) -> None:
    desk.documents.open(OTHER, "python", SHOP)
    desk.seconds = now()
    desk.edit(OTHER, (len(SHOP), len(SHOP), ADDED))


def test_a_method_added_to_a_base_class_is_implemented_in_another_open_file() -> None:
    desk = Desk(STORE)
    add_method_elsewhere(desk)
    found = desk.ask()
    assert labels(found) == ["implement stock in 1 class, without a body yet"]
    desk.accept(found.proposals[0])
    assert desk.text == STORE + "\n    def stock(self, id):\n        raise NotImplementedError\n"
    assert desk.ask().proposals == ()


def test_a_method_added_to_a_base_class_does_not_follow_an_edit_that_is_newer() -> None:
    desk = Desk(STORE)
    add_method_elsewhere(desk)
    desk.replace("return 1", "return 2")
    assert desk.ask().proposals == ()


def test_an_older_edit_is_repeated_too() -> None:
    desk = Desk(READS + "LIMIT = 10\n")
    desk.replace("requests", "client")
    desk.replace("requests", "client")
    desk.replace("LIMIT = 10", "LIMIT = 20")
    nearest = desk.text.replace("part3 = requests", "part3 = client")
    assert applied(desk.text, desk.ask().proposals[0].proposal.edits) == nearest


def test_a_dismissed_place_keeps_its_like_away() -> None:
    desk = Desk(READS)
    desk.replace("requests", "client")
    found = desk.ask()
    desk.log.dismiss(URI, [shown.id for shown in found.proposals])
    assert desk.ask().reason is NoEditReason.DISMISSED


def test_the_taking_back_of_one_of_two_alike_edits_is_followed_by_silence() -> None:
    desk = Desk(READS)
    desk.replace("requests", "client")
    desk.replace("requests", "client")
    desk.log.rests(URI, 20)
    desk.replace("client", "requests")
    assert desk.ask().proposals == ()


def test_what_was_dismissed_never_comes_back() -> None:
    desk = Desk()
    desk.replace("width", "breadth")
    found = desk.ask()
    desk.log.dismiss(URI, [shown.id for shown in found.proposals])
    assert desk.ask().reason is NoEditReason.DISMISSED
    desk.change((0, 0, "\n"))
    assert desk.ask().proposals == ()
    desk.log.dismiss("file:///other", None)


def test_undo_is_followed_by_silence() -> None:
    desk = Desk()
    at = desk.text.index("width")
    desk.change((at, at + 5, "breadth"))
    assert desk.ask().proposals
    desk.change((at, at + 7, "width"))
    found = desk.ask()
    assert (found.proposals, found.reason) == ((), NoEditReason.UNDO)


def test_one_undo_of_what_was_taken_is_followed_by_silence() -> None:
    desk = Desk()
    at = desk.text.index("width")
    desk.change((at, at + 5, "breadth"))
    edit = desk.ask().proposals[0].proposal.edits[0]
    desk.change((edit.span.start, edit.span.end, edit.new))
    desk.change((edit.span.start, edit.span.start + len(edit.new), edit.span.text))
    assert desk.ask().reason is NoEditReason.UNDO


@pytest.mark.parametrize("pasted", ["x = 1\n" * 10, "y" * 300])
def test_a_paste_is_followed_by_silence(pasted: str) -> None:
    desk = Desk()
    desk.replace("width", "breadth")
    assert desk.ask().proposals
    desk.change((0, 0, pasted))
    assert desk.ask().reason is NoEditReason.BULK


def test_many_changes_in_a_moment_are_followed_by_silence() -> None:
    desk = Desk()
    at = desk.text.index("width")
    desk.change((at, at + 5, "breadth"), *((0, 0, "# line\n") for _ in range(10)))
    assert desk.ask().reason is NoEditReason.BULK


def test_what_the_user_has_replaced_is_not_put_back() -> None:
    desk = Desk()
    back = Proposal((Edit(Span(27, 32, "width"), "breadth"),), "put back", 0.9, Kind.SIMILAR_LINE)
    desk.edits.find = lambda *_: Consequences((back,))
    desk.replace("breadth" if "breadth" in desk.text else "height", "depth")
    assert labels(desk.ask()) == ["put back"]
    desk = Desk(PROGRAM.replace("height", "breadth"))
    desk.edits.find = lambda edited, _: Consequences(
        (Proposal((Edit(Span(0, 3, "def"), "cdef"),), "other", 0.9, Kind.SIMILAR_LINE),)
        if "depth" not in edited.after
        else (
            Proposal((Edit(Span(edited.after.index("depth"), 0, "depth"), "breadth"),), "back", 0.9, Kind.SIMILAR_LINE),
        )
    )
    desk.replace("breadth", "depth")
    assert desk.ask().reason is NoEditReason.DISMISSED


@pytest.mark.parametrize("changes", [[(0, 0, "\n")], []])
async def test_an_answer_for_a_text_that_has_moved_on_is_superseded(changes: list[tuple[int, int, str]]) -> None:
    desk = Desk()
    desk.edits.pause_seconds = 0.01
    desk.replace("width", "breadth")
    newest = desk.log.of(URI).bursts.newest
    assert newest is not None
    newest.at = now()
    asking = asyncio.ensure_future(desk.edits.ask(desk.snapshot, 0))
    await asyncio.sleep(0)
    desk.change(*changes)  # without any, only the version is another one
    assert (await asking).reason is NoEditReason.SUPERSEDED


async def test_a_newer_question_overtakes_the_older() -> None:
    desk = Desk()
    desk.edits.pause_seconds = 5.0
    desk.replace("width", "breadth")
    newest = desk.log.of(URI).bursts.newest
    assert newest is not None
    newest.at = now()
    older = asyncio.ensure_future(desk.edits.ask(desk.snapshot, 0))
    await asyncio.sleep(0)
    desk.edits.pause_seconds = 0
    newer = await desk.edits.ask(desk.snapshot, len(desk.text))
    assert newer.proposals
    older.cancel()
    with pytest.raises(asyncio.CancelledError):
        await older


def test_a_whole_new_text_is_the_lines_that_differ() -> None:
    desk = Desk()
    change = change_to(desk.snapshot, PROGRAM.replace("width, height)", "breadth, height)", 1))
    desk.log.changed(desk.documents.change(URI, change, arrived=1.0))
    assert labels(desk.ask()) == ["rename 1 more use"]


def test_a_long_document_is_followed_too() -> None:
    desk = Desk(PROGRAM + "".join(f"value_{n} = {n}\n" for n in range(20_000)))
    desk.replace("width", "breadth")
    assert labels(desk.ask()) == ["rename 1 more use"]


WORDS = st.sampled_from(["width", "size", "area", "x", "self", " ", "\n", "(", ", y", "= 1", "", "light", "é🎉"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("edit"), st.integers(0, 400), st.integers(0, 9), WORDS),
        st.tuples(st.just("rename"), st.integers(0, 60), st.integers(0, 0), st.sampled_from(["alpha", "beta", "size"])),
        st.tuples(st.just("accept"), st.integers(0, 3), st.integers(0, 0), st.just("")),
        st.tuples(st.just("dismiss"), st.integers(0, 3), st.integers(0, 0), st.just("")),
    ),
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_only_what_was_announced_is_touched(steps: list[tuple[str, int, int, str]]) -> None:
    desk = Desk()
    dismissed: set[str] = set()
    for step, at, length, word in steps:
        if step == "edit":
            start = min(at, len(desk.text))
            desk.change((start, min(start + length, len(desk.text)), word))
            continue
        if step == "rename":
            names = list(re.finditer(r"[^\W\d]\w+", desk.text))
            if names:
                name = names[at % len(names)]
                desk.change((name.start(), name.end(), word))
            continue
        found = desk.ask()
        text = desk.text
        for shown in found.proposals:
            assert shown.id not in dismissed
            assert all(text[e.span.start : e.span.end] == e.span.text for e in shown.proposal.edits)
            assert all(one.span.end <= two.span.start for one, two in pairwise(shown.proposal.edits))
        if not found.proposals:
            continue
        chosen = found.proposals[at % len(found.proposals)]
        if step == "dismiss":
            dismissed.add(chosen.id)
            desk.log.dismiss(URI, [chosen.id])
            continue
        expected = applied(text, chosen.proposal.edits)
        desk.accept(chosen)
        assert desk.text == expected
        assert chosen.id not in [shown.id for shown in desk.ask().proposals]
    desk.edits.end()


def test_places_and_offsets() -> None:
    lines = ("ab\n", "é\n", "")
    for at in range(6):
        assert offset(lines, place_at(lines, at)) == min(at, 5)

"""How next edits are read off a network that expects a patch: places, drafts, several lines, limits."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[2] / "models" / "trunk")]

from patching_trunk import patching_model

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.budget.work import Budget
from infill_engine.context.snippets import Snippet
from infill_engine.edits.types import Diagnostic, NextEditRequest, PastEdit, Region, applied
from infill_engine.engine.engine import Engine
from infill_engine.ranking.calibration import Calibration
from infill_engine.sampling.proposer import Retrieval
from infill_engine.sampling.trunk.diff_prompt import HISTORY_TOKENS, LESS_HISTORY_TOKENS, REGION_TOKENS, diff_prompt
from infill_engine.sampling.trunk.line_writing import MOST_PASSES
from infill_engine.sampling.trunk.tree_sampler import TreeSampler
from infill_engine.text.sequences import common_prefix
from infill_engine.types import InfillRequest, Reason, Surroundings

EDIT = PastEdit("a.py", "self.height\n", "self.width\n", "def area\n", "return\n")


def request(above="", below="", known="self.width\n", history=(EDIT,), prefix=""):
    lines = tuple(f"{above}{known}{below}".splitlines())
    first = above.count("\n")
    around = Surroundings(prefix, "", "python", path="a.py")
    return Region(0, lines, (first, first + known.count("\n")), around, history)


def found_in(folder, asked, *patches):
    sampler = TreeSampler(patching_model(folder, *patches))
    budget = Budget.unlimited()
    return budget.run(sampler.rewrite(asked)), sampler.model


def texts_of(asked, found):
    return ["".join(f"{line}\n" for line in asked.with_change(one)) for one in found.found]


@pytest.mark.parametrize(
    ("above", "below", "patch", "expected"),
    [
        pytest.param(
            "one\n",
            "self.height\nlast\n",
            " one\n self.width\n-self.height\n+self.width\n last\n",
            "one\nself.width\nself.width\nlast\n",
            id="a line like the edited one",
        ),
        pytest.param(
            "a(self, width, b)\nmore\n",
            "",
            "-a(self, width, b)\n+a(self, height, width, b)\n more\n self.width\n",
            "a(self, height, width, b)\nmore\nself.width\n",
            id="tokens are inserted",
        ),
        pytest.param(
            "",
            "x = f(self, width, width, height)\n",
            " self.width\n-x = f(self, width, width, height)\n+x = f(self)\n",
            "self.width\nx = f(self)\n",
            id="tokens are removed",
        ),
        pytest.param(
            "",
            "one\ntwo\n",
            " self.width\n one\n+self.width\n two\n",
            "self.width\none\nself.width\ntwo\n",
            id="inserted",
        ),
        pytest.param(
            "",
            "def a(self):\n    return width\nend\n",
            " self.width\n-def a(self):\n-    return width\n+def a(self, height):\n+    return height\n end\n",
            "self.width\ndef a(self, height):\n    return height\nend\n",
            id="two lines",
        ),
        pytest.param(
            "", "é = 'ü🎉'\n", " self.width\n-é = 'ü🎉'\n+é = '🎉'\n", "self.width\né = '🎉'\n", id="beyond ASCII"
        ),
    ],
)
def test_the_expected_change_is_found(tmp_path, above, below, patch, expected):
    asked = request(above, below)
    found, _ = found_in(tmp_path, asked, patch)
    assert found.final
    assert texts_of(asked, found)[0] == expected


REMOVAL = PastEdit("a.py", "two\n", "", "", "")


@pytest.mark.parametrize("history", [(REMOVAL, EDIT), (EDIT,)])
def test_a_line_is_only_removed_after_an_equal_one(tmp_path, history):
    asked = request("", "one\ntwo\nthree\n", history=history)
    found, _ = found_in(tmp_path, asked, " self.width\n one\n-two\n three\n")
    texts = texts_of(asked, found)
    assert ("self.width\none\nthree\n" in texts) is (REMOVAL in history)


def test_what_the_user_has_written_stays(tmp_path):
    patch = " self.width\n-one\n+two\n"
    earlier = PastEdit("a.py", "zero\n", "one\n")
    assert found_in(tmp_path, request("", "one\n", history=(EDIT,)), patch)[0].found
    assert not found_in(tmp_path, request("", "one\n", history=(earlier, EDIT)), patch)[0].found


def test_lines_are_not_inserted_beside_equal_ones(tmp_path):
    added = PastEdit("a.py", "", "self.width\n")
    for patch in (" self.width\n one\n+one\n two\n", " self.width\n+one\n one\n two\n"):
        asked = request("", "one\ntwo\n", history=(added,))
        found, _ = found_in(tmp_path, asked, patch)
        assert "self.width\none\none\ntwo\n" not in texts_of(asked, found)


def test_inserted_blocks_are_not_inserted_again(tmp_path):
    added = PastEdit("a.py", "", "one\ntwo\n")
    patch = " self.width\n three\n+one\n+two\n"
    asked = request("", "three\nfour\n", history=(added,))
    found, _ = found_in(tmp_path, asked, patch)
    assert "self.width\nthree\none\ntwo\nfour\n" not in texts_of(asked, found)
    once = PastEdit("a.py", "", "one\n")
    asked = request("", "three\nfour\n", history=(once,))
    found, _ = found_in(tmp_path, asked, " self.width\n three\n+one\n four\n")
    assert "self.width\nthree\none\nfour\n" in texts_of(asked, found)


def test_a_change_is_tried_first_where_there_is_an_error(tmp_path):
    patches = ("-one\n+two\n", " one\n-three\n+four\n")
    asked = request("", "one\nthree\n", known="")
    wrong = replace(asked, diagnostics=(Diagnostic(1, "no such name"),))
    texts = [texts_of(each, found_in(tmp_path, each, *patches)[0])[0] for each in (asked, wrong)]
    assert texts == ["two\nthree\n", "one\nfour\n"]


def test_errors_and_definitions_are_told(tmp_path):
    vocabulary = patching_model(tmp_path).vocabulary
    asked = replace(request("", "one\n"), diagnostics=(Diagnostic(1, "no width"),))
    definitions = [Snippet("b.py", "def area(self):"), Snippet("c.py", "x" * 5000), Snippet("d.py", "self.height")]
    tokens = diff_prompt(vocabulary, asked, definitions).prompt.tokens
    told = b"".join(map(vocabulary.bytes_of, tokens)).decode()
    assert told.endswith("@@ b.py @@\n def area(self):\n@@ a.py @@ no width\n")


def test_nothing_is_found_where_nothing_changes(tmp_path):
    found, _ = found_in(tmp_path, request("one\n", "two\n"), " one\n self.width\n two\n")
    assert found.found == ()


def test_the_edited_lines_stay(tmp_path):
    found, _ = found_in(tmp_path, request("one\n", "two\n"), " one\n-self.width\n+self.height\n two\n")
    assert found.found == ()


def test_a_long_unchanged_line_is_verified_and_not_written(tmp_path):
    line = "f(" + "self, width, " * 4 + "{})\n"
    old, new = line.format("height"), line.format("self")
    _, model = found_in(tmp_path, request("", old), f" self.width\n-{old}+{new}")
    assert sum(rows < 4 for rows in model.backend.rows) < 4  # the tokens that differ, and no others


def test_what_is_mostly_new_is_given_up(tmp_path):
    new = "".join(f"new line {number}\n" for number in range(5))
    patch = " self.width\n" + "".join(f"+{line}\n" for line in new.splitlines())
    found, model = found_in(tmp_path, request("", "old\n"), patch)
    assert found.found == ()
    assert len(model.backend.rows) < 4 * MOST_PASSES


def test_a_region_that_is_too_long_is_read_around_the_edit(tmp_path):
    asked = request("far away\n" * 60, "near\n" + "far below\n" * 60)
    prompt = diff_prompt(patching_model(tmp_path).vocabulary, asked)
    assert sum(len(line.tokens) for line in prompt.lines) <= REGION_TOKENS
    assert any(line.text == "near" for line in prompt.lines)
    assert prompt.lines[60 - prompt.first].text == "self.width"


def test_a_history_of_thousands_of_edits_and_a_huge_one(tmp_path):
    vocabulary = patching_model(tmp_path).vocabulary
    huge = PastEdit("b.py", "x\n" * 5000, "y\n" * 5000)
    many = (huge, *([EDIT] * 5000))
    assert len(diff_prompt(vocabulary, request(history=many)).prompt.tokens) < HISTORY_TOKENS + 48
    only = diff_prompt(vocabulary, request(history=(EDIT, huge))).prompt.tokens
    assert b"y\ny\n" not in b"".join(map(vocabulary.bytes_of, only))


def told(vocabulary, edits, held=()):
    return diff_prompt(vocabulary, request(history=tuple(edits)), held=held).prompt.prefix


def test_the_history_begins_where_it_began_before_as_long_as_that_fits(tmp_path):
    vocabulary = patching_model(tmp_path).vocabulary
    edits = [PastEdit("a.py", f"{letter} = self.height\n", f"{letter} = self.width\n") for letter in "abcdefghijkl"]
    size = len(told(vocabulary, edits[:2])) - len(told(vocabulary, edits[:1]))
    fit = HISTORY_TOKENS // size
    first = told(vocabulary, edits[: fit - 1])
    assert common_prefix(first, told(vocabulary, edits[:fit], first)) > (fit - 1) * size
    moved = told(vocabulary, edits[: fit + 1], first)
    assert len(moved) < len(first)
    assert common_prefix(moved, told(vocabulary, edits[: fit + 2], moved)) > LESS_HISTORY_TOKENS // size * size
    assert len(told(vocabulary, edits[: fit + 1])) > len(first)


def test_a_region_without_a_whole_line(tmp_path):
    found, model = found_in(tmp_path, request("", "", known=""))
    assert not found.found
    assert not model.backend.rows


def test_there_may_be_no_time(tmp_path):
    sampler = TreeSampler(patching_model(tmp_path))
    budget = Budget(Deadline.after_ms(0), sampler.costs, FinishMargin(1.0))
    found = budget.run(sampler.rewrite(request("one\n", "two\n")))
    assert not found.found
    assert not found.final


def test_completions_keep_their_prompts(tmp_path):
    sampler = TreeSampler(patching_model(tmp_path, " one\n self.width\n-two\n"))
    budget = Budget.unlimited()
    before = InfillRequest("def a(self):\n    return self.wi", "\n")
    budget.run(sampler.prefetch(before))
    budget.run(sampler.rewrite(request("one\n", "two\n")))
    sampler.model.backend.rows.clear()
    budget.run(sampler.prefetch(before))
    assert sum(sampler.model.backend.rows) <= 1


def test_what_prompts_have_in_common_is_read_once(tmp_path):
    sampler = TreeSampler(patching_model(tmp_path))
    budget, rows = Budget.unlimited(), sampler.model.backend.rows
    budget.run(sampler.rewrite(request("one\n", "two\n")))
    first = sum(rows)
    rows.clear()
    again = request("", "other\n", known="")
    budget.run(sampler.rewrite(again))
    assert sum(rows) < first / 2


def next_edits(engine, edit, show_from=0.0):
    text = "one\nself.width\nf(self.width)\n"
    asked = NextEditRequest(text, (1, 2), "plaintext", "a.py", (edit,), show_from=show_from)
    found = engine.next_edits(asked, Deadline.after_ms(60_000))
    return [applied(text, one.edits) for one in found.proposals], found.reason


def test_the_engine_answers_with_edits_and_never_takes_one_back(tmp_path):
    patch = " one\n self.width\n-f(self.width)\n+f(self.height)\n"
    engine = Engine(TreeSampler(patching_model(tmp_path, patch)), "tiny", Calibration())
    assert next_edits(engine, EDIT) == ([], Reason.BLANK)
    edit = PastEdit("a.py", "one\n", "self.width\n")
    texts, reason = next_edits(engine, edit)
    assert (texts[0], reason) == ("one\nself.width\nf(self.height)\n", None)
    assert next_edits(engine, edit, show_from=1.0) == ([], Reason.BLANK)


def test_a_region_is_not_searched_twice(tmp_path):
    engine = Engine(TreeSampler(patching_model(tmp_path, "-f(self.width)\n+f(self.height)\n")), "tiny", Calibration())
    first = next_edits(engine, EDIT)
    rows = engine.proposer.model.backend.rows
    rows.clear()
    assert next_edits(engine, EDIT) == first
    assert not rows


def test_what_has_no_such_model_says_so():
    engine = Engine(Retrieval("no model"), "retrieval", Calibration())
    assert next_edits(engine, EDIT) == ([], Reason.UNSUPPORTED)

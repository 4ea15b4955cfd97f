"""What was predicted after texts is kept while the user types along one of them, and forgotten when they do not."""

import numpy as np
import pytest
from tiny_trunk import tiny_model

from infill_engine.budget.work import finished
from infill_engine.models.trunk.continuations import LEAST_FREE
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.prompt import build_prompt

ABOVE = "class Box:\n    def __init__(self, width, height):\n        self.width = width\n"
SUFFIX = "\n\n    def area(self):\n        return self.width * self.height\n"
LINE = ABOVE + "        self.height"


@pytest.fixture
def model(tmp_path):
    return tiny_model(tmp_path)


def read_text(model, reading, tokens):
    """Reads a text after the prompt, token by token in one pass, as a search does."""
    rows = range(len(tokens))
    found, _ = reading.run_pass(tokens, rows, [[~before for before in range(row)] for row in rows])
    for row, prediction in enumerate(found):
        reading.continuations.keep(tuple(tokens[: row + 1]), prediction)


def middle(model, prefix):
    return build_prompt(model.vocabulary, prefix, SUFFIX).middle


def afresh(model, prefix):
    other = TrunkModel(model.backend, model.vocabulary)
    return finished(other.read(other.prompt(prefix, SUFFIX))).after_prompt().logprobs


@pytest.fixture
def explored(model):
    """A model that has read ` = height` and what comes after it."""
    reading = finished(model.read(model.prompt(LINE, SUFFIX)))
    read_text(model, reading, model.vocabulary.encode(" = height + 1"))
    return model


def test_nothing_waits_where_the_user_has_typed_a_text_that_was_read(explored):
    typed = explored.vocabulary.encode(" = height")
    prefix = LINE + " = height"
    assert middle(explored, prefix) == (*middle(explored, LINE), *typed), "the test needs tokens that do not merge"
    reading = finished(explored.read(explored.prompt(prefix, SUFFIX)))
    assert not reading.waiting
    np.testing.assert_allclose(reading.after_prompt().logprobs, afresh(explored, prefix), atol=1e-4)


def test_what_is_known_of_the_rest_stays(explored):
    reading = finished(explored.read(explored.prompt(LINE + " =", SUFFIX)))
    rest = explored.vocabulary.encode(" height + 1")
    known = reading.continuations.get(tuple(rest))
    assert known is not None
    np.testing.assert_allclose(known.logprobs, afresh(explored, LINE + " = height + 1"), atol=1e-4)


def test_tokens_read_after_the_move_see_the_moved_ones(explored):
    reading = finished(explored.read(explored.prompt(LINE + " =", SUFFIX)))
    read_text(explored, reading, explored.vocabulary.encode(" width * 2"))
    known = reading.continuations.get(tuple(explored.vocabulary.encode(" width * 2")))
    np.testing.assert_allclose(known.logprobs, afresh(explored, LINE + " = width * 2"), atol=1e-4)


@pytest.mark.parametrize(
    "prefix", [LINE + "s", ABOVE + "        self", LINE + " = width", LINE + " = height\n        x"]
)
def test_another_text_is_read_and_nothing_of_the_old_one_is_used(explored, prefix):
    reading = finished(explored.read(explored.prompt(prefix, SUFFIX)))
    assert reading.waiting
    np.testing.assert_allclose(reading.after_prompt().logprobs, afresh(explored, prefix), atol=1e-4)
    assert reading.continuations.get(tuple(explored.vocabulary.encode(" = height"))) is None


def test_another_suffix_forgets(explored):
    reading = finished(explored.read(explored.prompt(LINE, SUFFIX + "x = 1\n")))
    assert reading.waiting
    assert reading.continuations.get(tuple(explored.vocabulary.encode(" ="))) is None


def test_a_prompt_whose_texts_have_filled_the_slots_starts_afresh(model):
    reading = finished(model.read(model.prompt(LINE, SUFFIX)))
    while reading.free_slots >= LEAST_FREE:
        read_text(model, reading, model.vocabulary.encode(" = height + width"))
    again = finished(model.read(model.prompt(LINE, SUFFIX)))
    assert again.waiting
    assert again.free_slots > LEAST_FREE
    np.testing.assert_allclose(again.after_prompt().logprobs, afresh(model, LINE), atol=1e-4)


def test_only_the_last_prompt_keeps_its_texts(explored):
    finished(explored.read(explored.prompt("import csv\n" * 12, "\nreader = csv.reader(file)\n")))
    reading = finished(explored.read(explored.prompt(LINE, SUFFIX)))
    assert reading.waiting
    assert reading.continuations.get(tuple(explored.vocabulary.encode(" ="))) is None

"""The prefix stream read on, against the same network over the whole text."""

import pytest
import torch
from torch import Tensor

from infill_engine.models.base import ReadsOn, unhurried
from infill_engine.models.duostream import continuation
from infill_engine.models.duostream.continuation import read_on
from infill_engine.models.duostream.family import DuostreamFamily

PREFIX = "def area(radius):\n    pi = 3.14\n    return "


@pytest.fixture
def ends_after_four(family: DuostreamFamily, monkeypatch: pytest.MonkeyPatch) -> DuostreamFamily:
    """The family with a network that is certain of a line break from the fifth token on, and never before."""
    plain, calls = family.network.logits, []
    breaks = [int(token) for token in family.vocabulary.breaks_line()]

    def logits(states: Tensor) -> Tensor:
        found = plain(states).clone()
        found[..., breaks] = 1e3 if len(calls) >= 4 else -1e3
        calls.append(states)
        return found

    monkeypatch.setattr(family.network, "logits", logits)
    monkeypatch.setattr(continuation, "LEAST_LOGPROB", -1e3)
    return family


def test_rows_are_what_the_network_says_one_token_at_a_time(ends_after_four: DuostreamFamily) -> None:
    family = ends_after_four
    breaks = [int(token) for token in family.vocabulary.breaks_line()]
    never = [int(token) for token in family.vocabulary.never()]
    context = family.encode(PREFIX, "\n")
    written = family.read_on(context, "", 3, unhurried)
    assert len({row.tokens[0] for row in written}) == len(written) == 3
    for row in written:
        ids = family.vocabulary.encode(PREFIX)
        assert len(row.tokens) == 4
        assert len(row.logprobs) == 5
        for number, token in enumerate(row.tokens):
            forward, _ = family.network.streams(torch.tensor([ids]))
            scores = forward[0, -1] @ family.network.tokens.weight.T
            scores[breaks] = -1e3
            logprobs = torch.log_softmax(scores, -1)
            assert logprobs[token].item() == pytest.approx(row.logprobs[number], abs=1e-3)
            logprobs[never] = -1e9
            assert number == 0 or token == logprobs.argmax().item()
            ids.append(token)


def test_a_cut_word_is_completed(ends_after_four: DuostreamFamily) -> None:
    family = ends_after_four
    written = family.read_on(family.encode(PREFIX, "\n"), "ra", 2, unhurried)
    assert written
    for row in written:
        assert b"".join(family.vocabulary.bytes_of(token) for token in row.tokens).startswith(b"ra")


def test_nothing_is_said_of_lines_that_there_was_no_time_to_end(ends_after_four: DuostreamFamily) -> None:
    family = ends_after_four
    asked: list[int] = []
    written = family.read_on(
        family.encode(PREFIX, "\n"), "", 2, lambda rows: bool(asked.append(rows)) or len(asked) < 3
    )
    assert written == []
    assert asked == [2, 2, 2]


def test_improbable_lines_are_left_out(ends_after_four: DuostreamFamily, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuation, "LEAST_LOGPROB", -0.01)
    assert ends_after_four.read_on(ends_after_four.encode(PREFIX, "\n"), "", 2, unhurried) == []


def test_the_default_family_offers_it(family: DuostreamFamily) -> None:
    assert isinstance(family, ReadsOn)
    assert read_on.__module__ == continuation.__name__

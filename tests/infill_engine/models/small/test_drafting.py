"""The prompted prefix stream read on, against the same network over the whole prompt."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from jobs import limited
from torch import Tensor

from infill_engine.budget.work import OutOfTime, finished
from infill_engine.models.base import WritesDrafts
from infill_engine.models.small import drafting as continuation
from infill_engine.models.small.drafting import write_drafts
from infill_engine.models.small.encoded import Prompt
from infill_engine.models.small.model import SmallModel
from infill_engine.models.small.network.dual_encoder import EOS
from infill_engine.models.small.network.dual_encoder import PREFIX as PREFIX_STREAM
from infill_engine.models.small.prompts import LINE_BLOCK, MOST_ABOVE, MOST_OF_LINE
from infill_engine.models.small.vocabulary import BytesVocabulary

PREFIX = "def area(radius):\n    pi = 3.14\n    return "
SUFFIX = "\n\nprint(area(2))\n"
FAVOURED, FAVOUR = 443, 9.0  # a token that is the most probable first one, and how much is added to its logit


@pytest.fixture(scope="module")
def vocabulary() -> BytesVocabulary:
    return BytesVocabulary(Path("infill_engine/weights/small/tokenizer.json"))


def asked(family: SmallModel, prefix: str = PREFIX, suffix: str = SUFFIX) -> Prompt:
    """The prompt for a hole between two texts."""
    return finished(family.prompt(finished(family.encode(prefix, suffix))))


def state_after(family: SmallModel, ids: list[int]) -> Tensor:
    """The last state [D] where `ids` go on from PREFIX's last line, by a prompt read at once."""
    sides = finished(family.encode(PREFIX, SUFFIX)).state
    stream, _ = finished(family.streams.encode(np.array(ids), PREFIX_STREAM))
    line = len(family.vocabulary.encode(PREFIX[: PREFIX.rfind("return")])) - 1
    return family.prompts.begin(replace(sides, stream=stream, before=np.array(ids)), line).states[0, -1]


@pytest.fixture
def ends_after_four(family: SmallModel, monkeypatch: pytest.MonkeyPatch) -> SmallModel:
    """The family with a network that is certain of a text's end from the fifth token on, and never before.

    One first token is by far the most probable, whatever the random weights are.
    """
    plain, calls = family.backend.network.logits, []
    breaks = [EOS, *(int(token) for token in family.vocabulary.breaks_line())]

    def logits(states: Tensor) -> Tensor:
        found = plain(states).clone()
        found[..., breaks] = 1e3 if len(calls) >= 4 else -1e3
        found[..., FAVOURED] += 0.0 if calls else FAVOUR
        calls.append(states)
        return found

    monkeypatch.setattr(family.backend.network, "logits", logits)
    monkeypatch.setattr(continuation, "LEAST_LOGPROB", -1e3)
    return family


def test_rows_are_what_the_network_says_one_token_at_a_time(ends_after_four: SmallModel) -> None:
    family = ends_after_four
    hidden = [EOS, *(int(token) for token in family.vocabulary.breaks_line())]
    never = [int(token) for token in family.vocabulary.never()]
    before = len(family.vocabulary.encode(PREFIX))

    def after(ids: list[int]) -> Tensor:
        scores = state_after(family, ids) @ family.backend.network.tokens.weight.T
        scores[hidden] = -1e3
        scores[FAVOURED] += FAVOUR if len(ids) == before else 0.0
        return torch.log_softmax(scores, -1)

    written = finished(family.write_drafts(asked(family), "", "", 3))
    ids, greedy = family.vocabulary.encode(PREFIX), 0.0
    for _ in range(4):
        logprobs = after(ids)
        logprobs[never] = -1e9
        ids.append(int(logprobs.argmax()))
        greedy += logprobs.max().item()
    totals = [sum(row.logprobs) for row in written]
    assert totals == sorted(totals, reverse=True)
    assert totals[0] >= greedy - 1e-3
    assert len({row.tokens for row in written}) == 3
    assert len({row.tokens[0] for row in written}) < 3  # so rows have gone on from others than themselves
    for row in written:
        ids = family.vocabulary.encode(PREFIX)
        assert len(row.tokens) == 4
        assert len(row.logprobs) == 5
        for number, token in enumerate(row.tokens):
            assert after(ids)[token].item() == pytest.approx(row.logprobs[number], abs=1e-3)
            ids.append(token)


def test_typing_goes_on_with_the_prompt(family: SmallModel) -> None:
    """What was read of it is not read again, and the answer is that of the whole prompt."""
    read: list[int] = []
    asked(family, PREFIX + "pi")
    context = finished(family.encode(PREFIX + "pi *", SUFFIX))
    prompt = limited(family.prompt(context), 1, read)
    assert limited(family.prompt(context), 0, read) is not None
    assert read == [1]
    expected = state_after(family, family.vocabulary.encode(PREFIX + "pi *"))
    torch.testing.assert_close(prompt.states[0, -1], expected, atol=1e-4, rtol=1e-4)


def test_a_new_line_reads_nothing_aside_again(family: SmallModel) -> None:
    """What stands right of the hole is known from the line above, at another place."""
    read: list[int] = []
    asked(family, PREFIX + "pi * radius")
    longer = PREFIX + "pi * radius\n    x = "
    found = limited(family.prompt(finished(family.encode(longer, SUFFIX))), 1, read)
    assert read == [found.states.shape[1]]
    fresh = SmallModel(family.backend, family.vocabulary)
    limited(fresh.prompt(finished(fresh.encode(longer, SUFFIX))), 1, read)
    assert read[1] == read[0] + 1 + len(family.vocabulary.encode(SUFFIX))
    torch.testing.assert_close(found.states, asked(fresh, longer).states, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("then", ["pi", "pi * 2 * rad", "radius", ""])
def test_other_words_in_the_line_are_another_prompt(family: SmallModel, then: str) -> None:
    asked(family, PREFIX + "pi * 2 *")
    found = asked(family, PREFIX + then).states[0, -1]
    expected = state_after(family, family.vocabulary.encode(PREFIX + then))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_what_stands_right_of_the_hole_matters(family: SmallModel) -> None:
    one, other = (asked(family, PREFIX, suffix).states[0, -1] for suffix in (SUFFIX, "\n\nx = 1\n"))
    assert not torch.allclose(one, other, atol=1e-3)


def test_without_time_the_prompt_is_not_read(family: SmallModel) -> None:
    with pytest.raises(OutOfTime):
        limited(family.prompt(finished(family.encode(PREFIX, SUFFIX))), 0)


@pytest.mark.parametrize("typed", [0, 7, 40])
def test_of_a_long_line_the_prompt_repeats_the_end(family: SmallModel, typed: int) -> None:
    prompt = asked(family, "x = 1\n" + ("a + " * 60)[: 120 + 2 * typed])
    assert MOST_OF_LINE - LINE_BLOCK < prompt.states.shape[1] <= MOST_OF_LINE


def test_a_prompt_sees_only_so_much_above_its_line(family: SmallModel) -> None:
    above = "".join(f"value_{number} = {number}\n" for number in range(60))
    near, far = asked(family, above[-100:] + PREFIX), asked(family, above + PREFIX)
    lengths = [each.encoder[0][0].shape[2] - each.states.shape[1] for each in (near, far)]
    assert lengths[0] < lengths[1]
    assert len(far.ids) > MOST_ABOVE + far.states.shape[1]
    aside = 1 + len(finished(family.encode(PREFIX, SUFFIX)).state.after)
    assert lengths[1] == MOST_ABOVE + aside


def test_a_cut_word_is_completed(ends_after_four: SmallModel) -> None:
    family = ends_after_four
    written = finished(family.write_drafts(asked(family), "ra", "", 2))
    assert written
    for row in written:
        assert b"".join(family.vocabulary.bytes_of(token) for token in row.tokens).startswith(b"ra")


def test_nothing_is_said_of_lines_that_there_was_no_time_to_end(ends_after_four: SmallModel) -> None:
    family = ends_after_four
    rows: list[int] = []
    written = limited(family.write_drafts(asked(family), "", "", 2), 2, rows)
    assert written == []
    assert rows == [2, 2, 2]


def test_improbable_lines_are_left_out(ends_after_four: SmallModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuation, "LEAST_LOGPROB", -0.01)
    assert finished(ends_after_four.write_drafts(asked(ends_after_four), "", "", 2)) == []


def test_the_default_family_offers_it(family: SmallModel) -> None:
    assert isinstance(family, WritesDrafts)
    assert write_drafts.__module__ == continuation.__name__


class Telling:
    """A `Writer` of a language that consists of a few texts, each with a weight; behind each stands `right`."""

    def __init__(self, vocabulary: BytesVocabulary, texts: dict[str, float], right: str) -> None:
        end = vocabulary.encode(right) or [EOS]
        self._texts = [([*vocabulary.encode(text), *end], weight) for text, weight in texts.items()]

    def first(self) -> Tensor:
        return self._next([()])

    def after(self, rows: Sequence[Sequence[int]], parents: Sequence[int] = ()) -> Tensor:
        return self._next(rows)

    def _next(self, rows: Sequence[Sequence[int]]) -> Tensor:
        found = torch.full((len(rows), 8192), 1e-12)
        for number, row in enumerate(rows):
            for tokens, weight in self._texts:
                if tokens[: len(row)] == list(row) and len(tokens) > len(row):
                    found[number, tokens[len(row)]] += weight
        return (found / found.sum(-1, keepdim=True)).log()


@pytest.mark.parametrize(
    ("texts", "right", "start", "expected"),
    [
        ({"one(two)": 3.0, "three": 2.0}, ")", "", ["one(two)", "three"]),  # not at the bracket of its own
        ({"one, two": 2.0, "one": 1.0}, ", three)", "", ["one", "one, two"]),  # either may be meant
        ({"one) + (two": 3.0, "one": 1.0}, ")", "", ["one"]),  # closes what it has not opened
        ({"one\ntwo": 3.0, "one": 1.0}, ")", "", ["one"]),
        ({"one": 3.0, "two": 1.0}, ")", "tw", ["two"]),
        ({"a (one": 1.0}, '")', "", ["a (one"]),  # brackets in a string mean nothing
        ({"one(": 3.0, "one(two)": 1.0}, "\n", "", ["one(", "one(two)"]),  # a line may leave one open
        ({"one": 3.0, "two": 1.0}, "", "", ["one", "two"]),  # or the text says that it ends
    ],
)
def test_a_text_ends_where_what_stands_right_can_follow(
    texts: dict[str, float], right: str, start: str, expected: list[str], vocabulary: BytesVocabulary
) -> None:
    telling = Telling(vocabulary, texts, right)
    found = finished(write_drafts(telling, vocabulary, start.encode(), right.strip("\n"), 3))
    assert [vocabulary.decode(one.tokens) for one in found] == expected

"""Blocks of masks in a search: right ones save passes, wrong ones change nothing."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "models" / "trunk"))

from tiny_trunk import tiny_model

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.budget.work import Budget
from infill_engine.models.trunk.backends.interface import PassResult
from infill_engine.models.trunk.denoiser import Denoised, ProposedToken
from infill_engine.sampling.trunk.tree_nodes import TreeStep
from infill_engine.sampling.trunk.tree_sampler import TreeSampler
from infill_engine.serving.preview import OPEN, _text_row
from infill_engine.types import ONE_HOLE, Gap, Hole, HoleKind, Holes, InfillRequest

AGES_MS = 60_000
LINE = Hole(HoleKind.LINE)
WRITTEN = "zyxwvutsrqponmlkjihgfcba"
REQUEST = InfillRequest("pass\n", "\n", candidates=1)


class Writer:
    """A backend that writes WRITTEN, and a denoiser that proposes what `foresee` makes of what follows."""

    slots, mask_share, reached = 7, 0.2, np.linspace(0.9, 0.3, 7)

    def __init__(self, inner, tokens, end, foresee, sure):
        self.inner, self.tokens, self.end, self.foresee, self.sure = inner, tokens, end, foresee, sure
        self.passes, self.masks, self.denoiser = 0, 0, self

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def run(self, buffer, rows, first):
        blocks = rows.blocks
        self.passes, self.masks = self.passes + 1, self.masks + len(blocks)
        logprobs = self.inner.run(buffer, rows, first).logprobs * 0.01
        for row, token in enumerate(rows.ids[first:]):
            logprobs[row, self.after(token)] += 12.0
        logprobs -= np.log(np.exp(logprobs).sum(-1, keepdims=True))
        empty = np.zeros((len(blocks), 1), np.int64)
        return PassResult(logprobs, np.argsort(-logprobs, -1)[:, :24], Denoised(empty, empty * 1.0, empty[:, 0]))

    def after(self, token):
        following = dict(zip(self.tokens, [*self.tokens[1:], self.end], strict=True))
        return following.get(token, self.tokens[0])

    def text_after(self, _denoised, rows, before):
        if before not in self.tokens:
            return []
        text = [*self.tokens[self.tokens.index(before) + 1 :], self.end]
        return [ProposedToken(self.foresee(token), np.log(self.sure)) for token in text[: rows.stop - rows.start]]


def searched(folder, foresee, holes=ONE_HOLE, *, sure=0.8, denoises=True, observer=None):
    model = tiny_model(folder)
    tokens = model.vocabulary.encode(WRITTEN)
    assert len(set(tokens)) == len(tokens)
    writer = Writer(model.backend, tokens, model.vocabulary.end, foresee, sure)
    sampler = TreeSampler(replace(model, backend=writer, denoises=denoises))
    budget = Budget(Deadline.after_ms(AGES_MS), sampler.costs, FinishMargin(1.0))
    found = budget.run(sampler.propose(REQUEST, LINE, (), holes), observer)
    scored = [one for one in found.proposals or () if one.logprob is not None]
    return max(scored, key=lambda one: one.logprob, default=None), writer


def right(token):
    return token


def test_right_blocks_save_passes_and_the_text_stays(tmp_path):
    alone, plain = searched(tmp_path, right, denoises=False)
    together, writer = searched(tmp_path, right)
    assert alone.text == together.text == WRITTEN
    assert together.logprob == pytest.approx(alone.logprob, abs=1e-4)
    assert plain.masks == 0
    assert writer.passes <= 2 + len(WRITTEN) // 8 + 1 < plain.passes / 3


def test_wrong_blocks_change_nothing(tmp_path):
    alone, plain = searched(tmp_path, right, denoises=False)
    together, writer = searched(tmp_path, lambda token: (token + 1) % 250, sure=0.3)
    assert together.text == alone.text
    assert writer.passes <= plain.passes


@pytest.mark.parametrize("spoilt", ["end", "line break", "line break behind text"])
def test_a_block_that_ends_the_text_inside_is_cut(tmp_path, spoilt):
    tokens = tiny_model(tmp_path).vocabulary
    stop = {"end": tokens.end, "line break": tokens.encode("\n")[0], "line break behind text": tokens.encode(":\n")[0]}
    ending = stop[spoilt]
    best, _ = searched(tmp_path, lambda token: ending if token == tokens.encode("p")[0] else token)
    assert best.text == WRITTEN


def test_every_hole_has_its_block(tmp_path):
    _, writer = searched(tmp_path, right, Holes(gaps=(Gap("; ", LINE),)))
    assert writer.masks > 0


def test_somebody_who_watches_sees_what_blocks_propose(tmp_path):
    steps = []
    searched(tmp_path, right, observer=lambda seen: steps.append(seen.state))
    first = next(step for step in steps if isinstance(step, TreeStep))
    longest = max(first.texts, key=len)
    assert longest[-1].text == WRITTEN[:8].encode()
    assert not any(piece.seen for piece in longest)
    row = _text_row(longest)
    assert row.texts == tuple(WRITTEN[:8])
    assert row.states == (OPEN,) * 8
    assert row.confidences[1:] == pytest.approx([0.8] * 7, abs=1e-3)


def test_text_that_is_replaced_has_no_blocks(tmp_path):
    _, writer = searched(tmp_path, right, Holes(("abc",)))
    assert writer.masks == 0

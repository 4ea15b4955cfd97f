"""The loss of one region and its gradients: where a change is due, and what becomes of the lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.trunk.prompt import TrunkVocabulary
from train.denoiser.frozen import FrozenTrunk
from train.next_edits.layout import KEEP, SIGNS, Laid
from train.next_edits.network import states_of

SIGN_WEIGHT, CHANGED_WEIGHT, TOKEN_WEIGHT = 1.0, 2.0, 0.5
SCALE = 16.0  # an example has the losses of about this many rows


@dataclass(frozen=True, slots=True)
class Scores:
    """Sums over a region: losses in nats and counts, of signs where nothing changes, of signs of changes, of tokens.

    `first` is whether the likeliest change begins where one is due, None if none is. `written` is whether all tokens
    of the change are the likeliest ones.
    """

    kept: tuple[float, int]
    changed: tuple[float, int]
    tokens: tuple[float, int]
    first: bool | None
    written: bool | None


class Learner:
    """A frozen trunk, and the tokens that begin with each sign."""

    def __init__(self, trunk: FrozenTrunk, vocabulary: TrunkVocabulary) -> None:
        self.trunk, self.vocabulary = trunk, vocabulary
        self._signs = [torch.from_numpy(vocabulary.completions_of(sign)[0]) for sign in SIGNS]

    def learn(self, prompt: Mapping[str, Tensor], laid: Laid) -> tuple[dict[str, Tensor], Scores]:
        """Return the gradients of the prompt for a region, and its scores."""
        leaves = {name: tensor.detach().requires_grad_() for name, tensor in prompt.items()}
        loss, scores = self._loss(leaves, laid)
        found = torch.autograd.grad(loss, list(leaves.values()))
        return dict(zip(leaves, found, strict=True)), scores

    @torch.no_grad()
    def judge(self, prompt: Mapping[str, Tensor], laid: Laid) -> Scores:
        """Return the scores of a region."""
        return self._loss(prompt, laid)[1]

    def _loss(self, prompt: Mapping[str, Tensor], laid: Laid) -> tuple[Tensor, Scores]:
        states = states_of(self.trunk, prompt, laid)
        rows = torch.cat([laid.starts, laid.rows])
        logits = F.linear(states[rows], self.trunk.embedding).float()
        logprobs = logits.log_softmax(-1)
        of_starts, of_tokens = logprobs.split([len(laid.starts), len(laid.rows)])
        groups = torch.stack([of_starts[:, tokens].logsumexp(-1) for tokens in self._signs], 1)  # [S, 3]
        signs = -groups.gather(1, laid.signs[:, None])[:, 0]
        tokens = -of_tokens.gather(1, laid.tokens[:, None])[:, 0]
        loss = SIGN_WEIGHT * signs[~laid.changed].sum() + CHANGED_WEIGHT * signs[laid.changed].sum()
        loss = (loss + TOKEN_WEIGHT * tokens.sum()) / SCALE
        return loss, _scores(laid, groups.detach(), signs.detach(), tokens.detach(), of_tokens.detach().argmax(-1))


def _scores(laid: Laid, groups: Tensor, signs: Tensor, tokens: Tensor, choices: Tensor) -> Scores:
    first = None
    if laid.changed[: laid.first_starts].any():
        others = groups[: laid.first_starts, KEEP + 1 :].max(1).values
        first = bool(laid.changed[int(others.argmax())])
    kept, changed = signs[~laid.changed], signs[laid.changed]
    return Scores(
        (float(kept.sum()), len(kept)),
        (float(changed.sum()), len(changed)),
        (float(tokens.sum()), len(tokens)),
        first,
        bool((choices == laid.tokens).all()) if len(laid.tokens) else None,
    )


def summary(scores: Sequence[Scores]) -> str:
    """Return the mean losses, and the shares of changes that are found first and written correctly."""

    def mean(pairs: Sequence[tuple[float, int]]) -> float:
        return sum(pair[0] for pair in pairs) / max(1, sum(pair[1] for pair in pairs))

    kept, changed, tokens = ([getattr(score, name) for score in scores] for name in ("kept", "changed", "tokens"))
    first = [score.first for score in scores if score.first is not None]
    written = [score.written for score in scores if score.written is not None]
    return (
        f"unchanged {mean(kept):.3f} · changed {mean(changed):.3f} · token {mean(tokens):.3f} nats · "
        f"found first {sum(first)}/{len(first)} · written {sum(written)}/{len(written)}"
    )

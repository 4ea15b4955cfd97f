"""The loss of one region and its gradients: where a change is due, and what becomes of the lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.trunk.prompt import TrunkVocabulary
from train.denoiser.frozen import FrozenTrunk
from train.low_rank.network import Products, states_of
from train.next_edits.layout import KEEP, SIGNS, Laid
from train.next_edits.packing import Pack

SIGN_WEIGHT, CHANGED_WEIGHT, TOKEN_WEIGHT = 1.0, 2.0, 0.5
TOLD_WEIGHT = 0.25  # of a token of an earlier edit, which the edits before it tell of
SCALE = 16.0  # an example has the losses of about this many rows


@dataclass(frozen=True, slots=True)
class Scores:
    """Sums over a region: losses in nats and counts, of signs where nothing changes, of signs of changes, of tokens.

    `loss` is what is learned, a weighted sum of these.
    `first` is whether the likeliest change begins where one is due, None if none is. `written` is whether all tokens
    of the change are the likeliest ones.
    """

    loss: float
    kept: tuple[float, int]
    changed: tuple[float, int]
    tokens: tuple[float, int]
    first: bool | None
    written: bool | None


class Learner:
    """A frozen trunk, its products, and the tokens that begin with each sign."""

    def __init__(self, trunk: FrozenTrunk, products: Products, vocabulary: TrunkVocabulary) -> None:
        self.trunk, self.products, self.vocabulary = trunk, products, vocabulary
        device = trunk.norm.device
        self._signs = [torch.from_numpy(vocabulary.completions_of(sign)[0]).to(device) for sign in SIGNS]

    def learn(self, weights: Mapping[str, Tensor], pack: Pack) -> tuple[list[Tensor], list[Scores]]:
        """Return the gradients of an adapter, in the trunk's type, for some regions, and the regions' scores."""
        leaves = {name: tensor.detach().requires_grad_() for name, tensor in weights.items()}
        loss, scores = self._loss(leaves, pack)
        return list(torch.autograd.grad(loss, list(leaves.values()))), scores

    @torch.no_grad()
    def judge(self, weights: Mapping[str, Tensor], pack: Pack) -> list[Scores]:
        """Return the scores of some regions."""
        return self._loss(weights, pack)[1]

    def _loss(self, weights: Mapping[str, Tensor], pack: Pack) -> tuple[Tensor, list[Scores]]:
        states = states_of(self.trunk, self.products, weights, pack.rows)
        rows = [
            place[torch.cat([region.starts, region.rows])]
            for region, place in zip(pack.regions, pack.places, strict=True)
        ]
        told = pack.places[0][pack.regions[0].told]
        logits = F.linear(states[torch.cat([*rows, told]).to(states.device)], self.trunk.embedding).float()
        *of_regions, of_told = logits.log_softmax(-1).split([*map(len, rows), len(told)])
        found = [self._loss_of(*each) for each in zip(pack.regions, of_regions, strict=True)]
        next_tokens = pack.rows.ids[told + 1].to(logits.device)
        loss = -TOLD_WEIGHT / SCALE * of_told.gather(1, next_tokens[:, None]).sum()
        return loss + torch.stack([each for each, _ in found]).sum(), [scores for _, scores in found]

    def _loss_of(self, laid: Laid, logprobs: Tensor) -> tuple[Tensor, Scores]:
        """Return the loss and the scores of a region, of whose starts and rows `logprobs` [S + N, V] are."""
        of_starts, of_tokens = logprobs.split([len(laid.starts), len(laid.rows)])
        groups = torch.stack([of_starts[:, tokens].logsumexp(-1) for tokens in self._signs], 1)  # [S, 3]
        wanted, right, changed = (each.to(logprobs.device) for each in (laid.signs, laid.tokens, laid.changed))
        signs = -groups.gather(1, wanted[:, None])[:, 0]
        tokens = -of_tokens.gather(1, right[:, None])[:, 0]
        loss = SIGN_WEIGHT * signs[~changed].sum() + CHANGED_WEIGHT * signs[changed].sum()
        loss = (loss + TOKEN_WEIGHT * tokens.sum()) / SCALE
        detached = (each.detach().cpu() for each in (groups, signs, tokens, of_tokens.argmax(-1)))
        return loss, _scores(laid, float(loss.detach()), *detached)


def _scores(laid: Laid, loss: float, groups: Tensor, signs: Tensor, tokens: Tensor, choices: Tensor) -> Scores:
    first = None
    if laid.changed[: laid.first_starts].any():
        others = groups[: laid.first_starts, KEEP + 1 :].max(1).values
        first = bool(laid.changed[int(others.argmax())])
    kept, changed = signs[~laid.changed], signs[laid.changed]
    return Scores(
        loss,
        (float(kept.sum()), len(kept)),
        (float(changed.sum()), len(changed)),
        (float(tokens.sum()), len(tokens)),
        first,
        bool((choices == laid.tokens).all()) if len(laid.tokens) else None,
    )


def summary(scores: Sequence[Scores]) -> str:
    """Return the mean losses, those of signs also together, and the shares of changes that are found and written."""

    def mean(pairs: Sequence[tuple[float, int]]) -> float:
        return sum(pair[0] for pair in pairs) / max(1, sum(pair[1] for pair in pairs))

    kept, changed, tokens = ([getattr(score, name) for score in scores] for name in ("kept", "changed", "tokens"))
    first = [score.first for score in scores if score.first is not None]
    written = [score.written for score in scores if score.written is not None]
    return (
        f"unchanged {mean(kept):.3f} · changed {mean(changed):.3f} · both {mean([*kept, *changed]):.3f} · "
        f"token {mean(tokens):.3f} nats · "
        f"found first {sum(first)}/{len(first)} · written {sum(written)}/{len(written)}"
    )

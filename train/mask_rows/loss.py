"""The head over the draft vocabulary, the losses of its logits, and their gradients, in closed form and row by row.

Logits are computed for a few rows at a time and never kept. The gradient of the loss with respect to them is known at
once, so the products that need it follow immediately.

    loss = ce * -log p(target) + (1 - ce) * TV(p, q)

p is the slot's distribution and q the trunk's, of which only the likeliest tokens are known: the total variation is
1 - sum min(p, q) over these. Its gradient is p (S - active), where `active` marks tokens with p < q and S is the sum of
their p. Sources: total variation as the loss of a drafter (DistillSpec, arXiv 2310.08461); the Markov head (arXiv
2605.07147); a trimmed vocabulary for drafts (FR-Spec, arXiv 2502.14856).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

ROWS = 256  # of logits at a time
SHARED = ("markov.before", "markov.after", "confidence.weight", "confidence.bias")


@dataclass(frozen=True, slots=True)
class Targets:
    """What N slots should predict, in words of the draft vocabulary; a token outside it is the number of words."""

    slot: Tensor  # [N], from 0
    weights: Tensor  # [N]
    before: Tensor  # [N]
    likeliest: Tensor  # [N, K]
    chances: Tensor  # [N, K]

    def rows(self, part: slice) -> "Targets":
        """Return the targets of some rows."""
        return Targets(self.slot[part], self.weights[part], self.before[part], self.likeliest[part], self.chances[part])


@dataclass(frozen=True, slots=True)
class Scored:
    """For N slots: losses in nats, unweighted, whether the choice is the trunk's, and the confidence in that."""

    losses: Tensor
    right: Tensor
    confidence: Tensor


def score(
    states: Tensor,
    head: Tensor,
    weights: Mapping[str, Tensor],
    targets: Targets,
    ce: float,
    gradients: dict[str, Tensor] | None = None,
) -> tuple[Scored, Tensor | None]:
    """Score normed states [N, D] with a head [W, D] and the weights named SHARED, all in one type.

    With `gradients`, adds those of SHARED to it, in float32, and also returns that of the states.
    """
    scores, of_states = [], []
    for start in range(0, len(states), ROWS):
        part = slice(start, start + ROWS)
        scored, of_part = _score(states[part], head, weights, targets.rows(part), ce, gradients)
        scores.append(scored)
        of_states.append(of_part)
    joined = Scored(
        *(torch.cat([getattr(each, name) for each in scores]) for name in ("losses", "right", "confidence"))
    )
    return joined, None if gradients is None else torch.cat([each for each in of_states if each is not None])


def _score(
    states: Tensor,
    head: Tensor,
    weights: Mapping[str, Tensor],
    targets: Targets,
    ce: float,
    gradients: dict[str, Tensor] | None,
) -> tuple[Scored, Tensor | None]:
    words = len(head)
    known = weights["markov.before"][targets.before]
    logits = (F.linear(states, head) + F.linear(known, weights["markov.after"])).float()
    best, choice = logits.max(-1)
    total = logits.logsumexp(-1)
    inside = targets.likeliest < words
    at = targets.likeliest.clamp(max=words - 1)
    logprobs = logits.gather(1, at) - total[:, None]
    own = logprobs.exp() * inside
    shared = torch.minimum(own, targets.chances).sum(-1)
    losses = (-ce * logprobs[:, 0] + (1 - ce) * (1 - shared)) * inside[:, 0]
    right = (choice == targets.likeliest[:, 0]) & inside[:, 0]
    sure = best - total
    features = torch.cat([states.float(), sure[:, None]], 1)
    doubt = features @ weights["confidence.weight"].float() + weights["confidence.bias"].float()[targets.slot]
    scored = Scored(losses, right, doubt.sigmoid())
    if gradients is None:
        return scored, None
    share = targets.weights * inside[:, 0]  # a target outside the vocabulary teaches nothing
    active = own * (own < targets.chances)
    scale = share * (ce + (1 - ce) * active.sum(-1))
    slopes = logits.sub_(total[:, None]).exp_().mul_(scale[:, None])
    slopes.scatter_add_(1, at, -(1 - ce) * share[:, None] * active)
    slopes.scatter_add_(1, at[:, :1], -ce * share[:, None])
    slopes = slopes.to(states.dtype)
    gradients["markov.after"] += slopes.t() @ known
    gradients["markov.before"].index_add_(0, targets.before, (slopes @ weights["markov.after"]).float())
    miss = (scored.confidence - right.float()) * targets.weights
    gradients["confidence.weight"] += miss @ features
    gradients["confidence.bias"].index_add_(0, targets.slot, miss)
    return scored, slopes @ head

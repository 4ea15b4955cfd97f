"""What a denoiser's proposals are worth: shares of right slots, and the tokens of a verify pass."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from train.denoiser.layout import SLOTS
from train.denoiser.loss import Scored


class Tally:
    """Counts right proposals by slot, and those that the search would accept, with all slots before them right."""

    def __init__(self, slots: int = SLOTS) -> None:
        self._slots = slots
        self._sums = torch.zeros(5, slots)

    def add(self, right: Tensor, rows: Tensor, losses: Tensor) -> None:
        """Count slots [N]: `rows` are their indices in blocks side by side, as `Words.targets` returns them."""
        rows, right, losses = rows.cpu(), right.cpu(), losses.cpu()
        blocks = int(rows.max()) // self._slots + 1 if len(rows) else 0
        known, hits = torch.zeros(2, blocks * self._slots)
        known[rows], hits[rows] = 1.0, right.float()
        known, hits = known.view(blocks, -1), hits.view(blocks, -1)
        reached = known * torch.cat([torch.ones(blocks, 1), hits[:, :-1].cumprod(1)], 1)
        self._sums[0] += known.sum(0)
        self._sums[1] += hits.sum(0)
        self._sums[2] += reached.sum(0)
        self._sums[3] += (reached * hits).sum(0)
        self._sums[4].index_add_(0, rows % self._slots, losses)

    @property
    def losses(self) -> list[float]:
        """Mean loss by slot."""
        return _ratios(self._sums[4], self._sums[0])

    @property
    def right(self) -> list[float]:
        """Share of right proposals by slot, whatever was proposed before them."""
        return _ratios(self._sums[1], self._sums[0])

    @property
    def accepted(self) -> list[float]:
        """Share of right proposals by slot where all before it in the block are right."""
        return _ratios(self._sums[3], self._sums[2])

    @property
    def tokens(self) -> float:
        """Tokens of a verify pass: the anchor's own, and the proposals that are accepted in a row on average.

        A block whose text ends early, or goes another way, counts as far as it goes (Kaplan and Meier, 1958).
        """
        return tokens_of(self.accepted)


@dataclass(slots=True)
class Recent:
    """What was learned since the last report, and the seconds that it took."""

    tally: Tally = field(default_factory=Tally)
    slots: int = 0
    seconds: float = 0.0

    def add(self, scores: Sequence[tuple[Scored, Tensor]], slots: int, seconds: float) -> None:
        """Count a step's slots: their scores, and their indices as for `Tally.add`."""
        self.slots, self.seconds = self.slots + slots, self.seconds + seconds
        for scored, rows in scores:
            self.tally.add(scored.right, rows, scored.losses)

    def line(self, wall: float) -> str:
        """Return the report's line. `wall` is the wall time in seconds since the last one."""
        return (
            f"{self.slots / self.seconds:.0f} slots/s, {self.slots / wall:.0f} by wall time · loss "
            f"{shown(self.tally.losses)} · right {shown(self.tally.right)} · {self.tally.tokens:.3f} tokens"
        )


def tokens_of(accepted: Iterable[float]) -> float:
    """Return 1 + a1 + a1 a2 + …, the tokens of a verify pass with these shares of accepted proposals by slot."""
    total = share = 1.0
    for each in accepted:
        share *= each
        total += share
    return total


def shown(shares: Iterable[float]) -> str:
    """Return shares as text."""
    return " ".join(f"{share:.2f}" for share in shares)


def _ratios(parts: Tensor, wholes: Tensor) -> list[float]:
    ratios: list[float] = (parts / wholes.clamp(min=1.0)).tolist()
    return ratios

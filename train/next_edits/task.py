"""The task of next edits: where a change is due, and what becomes of the lines, on examples of version histories."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.trunk.files.shards import write_shard
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.models.trunk.sources import ShardsSource
from train.figures import Score
from train.low_rank import LowRank
from train.next_edits.examples import Deck, Drawn
from train.next_edits.layout import KEEP, SIGNS, Laid
from train.trunk.base import Base
from train.trunk.network import states_of

SIGN_WEIGHT, CHANGED_WEIGHT, TOKEN_WEIGHT = 1.0, 2.0, 0.5
TOLD_WEIGHT = 0.25  # of a token of an earlier edit, which the edits before it tell of
SCALE = 16.0  # an example has the losses of about this many rows
CALIBRATION_SEED = 5


class NextEdits(LowRank[Drawn]):
    """The parts of an example are its regions. `histories` is the folder that bench.edits.histories wrote."""

    name = "next-edits"

    def __init__(
        self, base: Base, vocabulary: TrunkVocabulary, rank: int, histories: Path = Path(), judged: int = 0
    ) -> None:
        super().__init__(base, rank)
        self._vocabulary, self._histories, self._judged = vocabulary, histories, judged
        self._signs = [torch.from_numpy(vocabulary.completions_of(sign)[0]).to(self.device) for sign in SIGNS]
        self._deck: Deck | None = None

    def draw(self, seed: int) -> Iterator[Drawn]:
        """See `Task`."""
        self._deck = self._open("train", seed)
        return self._deck.draw()

    def judged(self) -> list[Drawn]:
        """See `Task`."""
        return list(islice(self._open("calibration", CALIBRATION_SEED).draw(), self._judged))

    def size(self, item: Drawn) -> int:
        """See `Task`."""
        return len(item.pack.rows)

    def learned(self, item: Drawn, scores: Sequence[Score]) -> None:
        """See `Task`."""
        assert self._deck is not None
        self._deck.learned(item, sum(each.loss for each in scores))

    def export(self, weights: Mapping[str, Tensor], path: Path) -> None:
        """Write the file that `infill_engine.models.trunk.edit_adapter` describes."""
        arrays = {name: each.half().cpu().numpy() for name, each in weights.items()}
        write_shard(path, arrays, ShardsSource(self.base.folder, self.base.trained).made_from())

    def loss(self, weights: Mapping[str, Tensor], item: Drawn) -> tuple[Tensor, list[Score]]:
        """See `LowRank`."""
        pack, trunk = item.pack, self.base.trunk
        states = states_of(trunk, self.base.products, weights, pack.rows)
        rows = [
            place[torch.cat([region.starts, region.rows])]
            for region, place in zip(pack.regions, pack.places, strict=True)
        ]
        told = pack.places[0][pack.regions[0].told]
        logits = F.linear(states[torch.cat([*rows, told]).to(states.device)], trunk.embedding).float()
        *of_regions, of_told = logits.log_softmax(-1).split([*map(len, rows), len(told)])
        found = [self._loss_of(*each) for each in zip(pack.regions, of_regions, strict=True)]
        next_tokens = pack.rows.ids[told + 1].to(logits.device)
        loss = -TOLD_WEIGHT / SCALE * of_told.gather(1, next_tokens[:, None]).sum()
        return loss + torch.stack([each for each, _ in found]).sum(), [scores for _, scores in found]

    def _open(self, split: str, seed: int) -> Deck:
        return Deck(self._histories / f"{split}.jsonl", self._vocabulary, seed)

    def _loss_of(self, laid: Laid, logprobs: Tensor) -> tuple[Tensor, Score]:
        """Return the loss and the scores of a region, of whose starts and rows `logprobs` [S + N, V] are."""
        of_starts, of_tokens = logprobs.split([len(laid.starts), len(laid.rows)])
        groups = torch.stack([of_starts[:, tokens].logsumexp(-1) for tokens in self._signs], 1)  # [S, 3]
        wanted, right, changed = (each.to(logprobs.device) for each in (laid.signs, laid.tokens, laid.changed))
        signs = -groups.gather(1, wanted[:, None])[:, 0]
        tokens = -of_tokens.gather(1, right[:, None])[:, 0]
        loss = SIGN_WEIGHT * signs[~changed].sum() + CHANGED_WEIGHT * signs[changed].sum()
        loss = (loss + TOKEN_WEIGHT * tokens.sum()) / SCALE
        detached = (each.detach().cpu() for each in (groups, signs, tokens, of_tokens.argmax(-1)))
        return loss, _score(laid, float(loss.detach()), *detached)


def _score(laid: Laid, loss: float, groups: Tensor, signs: Tensor, tokens: Tensor, choices: Tensor) -> Score:
    """Return the losses of signs and tokens in nats, and whether the model would choose the right change.

    `first` is whether the likeliest change begins where one is due; `written` whether all tokens are the likeliest.
    """
    kept, changed = signs[~laid.changed], signs[laid.changed]
    sums = {
        "unchanged": (float(kept.sum()), float(len(kept))),
        "changed": (float(changed.sum()), float(len(changed))),
        "both": (float(signs.sum()), float(len(signs))),
        "token": (float(tokens.sum()), float(len(tokens))),
    }
    if laid.changed[: laid.first_starts].any():
        others = groups[: laid.first_starts, KEEP + 1 :].max(1).values
        sums["first"] = float(laid.changed[int(others.argmax())]), 1.0
    if len(laid.tokens):
        sums["written"] = float((choices == laid.tokens).all()), 1.0
    return Score(loss, 1.0, sums)

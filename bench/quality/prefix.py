"""The default model's prefix stream by itself, read left to right: what the same weights do without a canvas."""

from collections.abc import Sequence

import numpy as np
import torch

from infill_engine.models.duostream.family import MOST_TOKENS, DuostreamFamily
from infill_engine.models.duostream.net import BOS, PREFIX, KeysValues

TOP = 64  # tokens whose log-probability is handed on


class PrefixReader:
    """Next-token log-probabilities after a prefix. Keeps keys and values of the prefix and of one generated run."""

    def __init__(self, family: DuostreamFamily, prefix: str) -> None:
        self._network = family.network
        self._device = family.device
        # Room for what is generated: a prefix as long as the model's limit loses its far end.
        self._prefix = (family.vocabulary.encode(prefix) or [BOS])[-MOST_TOKENS + 80 :]
        self._read: list[int] = []
        self._past: tuple[KeysValues, ...] | None = None
        self._after_prefix: tuple[KeysValues, ...] | None = None
        self._first: dict[int, float] | None = None

    def scores(self, generated: Sequence[int]) -> dict[int, float]:
        """The most probable next tokens after the prefix and `generated`, natural logarithms."""
        if not generated:
            if self._first is None:
                self._first, self._after_prefix = self._run(self._prefix, None)
            return self._first
        wanted = list(generated)
        continues = self._past is not None and wanted[: len(self._read)] == self._read and len(wanted) > len(self._read)
        if not continues:
            self.scores(())
            self._read, self._past = [], self._after_prefix
        found, self._past = self._run([*self._prefix, *wanted], self._past)
        self._read = wanted
        return found

    @torch.inference_mode()
    def _run(
        self, ids: list[int], past: tuple[KeysValues, ...] | None
    ) -> tuple[dict[int, float], tuple[KeysValues, ...]]:
        known = 0 if past is None else past[0][0].shape[2]
        # The n-gram embedding looks two tokens back.
        tail = torch.tensor([ids[max(0, known - 2) :]], device=self._device)
        embedded = self._network.embed(tail, torch.tensor([PREFIX], device=self._device))
        x = embedded[:, tail.shape[1] - (len(ids) - known) :]
        tables = self._network.rotary(torch.arange(known, len(ids), device=self._device))
        layers = []
        for number, layer in enumerate(self._network.encoder):
            x, keys_values = layer(x, tables, past[number] if past is not None else None)
            layers.append(keys_values)
        states = self._network.encoder_norm(x[:, -1:])
        logprobs = torch.log_softmax(self._network.logits(states)[0, 0].float(), -1)
        top = logprobs.topk(TOP)
        tokens = np.asarray(top.indices.cpu()).tolist()
        return dict(zip(tokens, np.asarray(top.values.cpu()).tolist(), strict=True)), tuple(layers)

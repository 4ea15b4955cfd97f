"""The small model as a model family: its streams, prompts and canvas decoder, on any backend."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Generic

import torch
from torch import Tensor

from infill_engine.budget.work import Job, Phase, Work
from infill_engine.context.ngrams import Ngrams
from infill_engine.models.base import (
    Context,
    Corruption,
    Ints,
    ModelDraft,
    ModelInfo,
    ProposedLength,
)
from infill_engine.models.cached_lines import CachedLines
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.models.kv_cache.prefix_cache import cut_in_blocks
from infill_engine.models.small.backends.interface import Backend
from infill_engine.models.small.drafting import ends_at, write_drafts
from infill_engine.models.small.encoded import Array, Prompt, Sides
from infill_engine.models.small.network.dual_encoder import BOS, EOS, LENGTH_BUCKETS, MASK, PREFIX, PROMPT_ASIDE, SUFFIX
from infill_engine.models.small.prompts import PromptReader
from infill_engine.models.small.scoring import Tree, logprobs_of
from infill_engine.models.small.streams import CachedStreams
from infill_engine.models.small.vocabulary import BytesVocabulary
from infill_engine.settings import USUAL_WINDOW
from infill_engine.types import HoleKind

MOST_TOKENS = 448  # of one stream
MOST_SLOTS = 24  # of a canvas; longer ones are seldom right and take time from others
KINDS = tuple(HoleKind)


class SmallModel(Generic[Array]):
    """Implements `infill_engine.models.base.CanvasModel` and `WritesDrafts` for the small model."""

    def __init__(self, backend: Backend[Array], vocabulary: BytesVocabulary) -> None:
        self.backend = backend
        self.vocabulary = vocabulary
        self.device = backend.device
        self.info = ModelInfo(
            "duostream",
            Corruption.MASK,
            backend.config.vocab,
            MASK,
            EOS,
            MOST_SLOTS,
            window=replace(USUAL_WINDOW, surroundings=True),
            profile=backend.profile,
            languages=frozenset({"python"}),
        )
        self.streams = CachedStreams(backend)
        self.prompts = PromptReader(backend, vocabulary.breaks_line())
        self._lines = CachedLines(vocabulary)

    @torch.inference_mode()
    def encode(self, prefix: str, suffix: str) -> Job[Context]:
        before = self.vocabulary.encode(prefix.replace("\r\n", "\n")) or [BOS]
        after = self.vocabulary.encode(suffix.replace("\r\n", "\n"))
        kept = cut_in_blocks(before, MOST_TOKENS)
        left, left_new = yield from self.streams.encode(kept, PREFIX)
        right, right_new = yield from self.streams.encode(cut_in_blocks(after[::-1], MOST_TOKENS), SUFFIX)
        side = self.backend.side
        sides = Sides(side(left), side(right), left, kept, tuple(after[:PROMPT_ASIDE]))
        return Context(sides, left_new + right_new, len(before) + len(after))

    @torch.inference_mode()
    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:
        logits = self.backend.length_logits(context.state, KINDS.index(kind))
        logprobs = torch.log_softmax(logits.float(), -1).tolist()
        found = [ProposedLength(*pair) for pair in zip(LENGTH_BUCKETS, logprobs, strict=True) if pair[0] <= MOST_SLOTS]
        return sorted(found, key=lambda length: -length.logprob)[:limit]

    @torch.inference_mode()
    def denoise(self, context: Context, kind: HoleKind, canvas: Canvas, wanted: Ints) -> Tensor:
        return self.backend.canvas_logits(context.state, KINDS.index(kind), canvas, wanted)

    @torch.inference_mode()
    def prompt(self, context: Context) -> Job[Prompt[Array]]:
        return (yield from self.prompts.read(context.state))

    @torch.inference_mode()
    def write_drafts(self, prompt: Prompt[Array], partial_word: str, right: str, limit: int) -> Job[list[ModelDraft]]:
        writer = self.backend.writer(prompt, limit)
        return (yield from write_drafts(writer, self.vocabulary, partial_word.encode(), right, limit))

    def count(self, around: tuple[str, str]) -> Job[Ngrams]:
        return Ngrams((yield from self._lines.encode(around)))

    @torch.inference_mode()
    def score(
        self,
        prompt: Prompt[Array],
        partial_word: str,
        right: str,
        texts: Sequence[str],
        near: Ngrams,
        project: Ngrams | None,
    ) -> Job[list[float]]:
        if not texts:
            return []
        tree = Tree.of([self.vocabulary.encode(partial_word + text) for text in texts])
        yield Work(Phase.READ, len(tree.tokens))
        counts = [near] if project is None else [project, near]
        ends = ends_at(self.vocabulary, right)
        return logprobs_of(tree, self.backend.tree_logprobs(prompt, tree), ends, prompt.ids.tolist(), counts)

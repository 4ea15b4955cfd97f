"""DiffusionGemma (huggingface.co/google/diffusiongemma-26B-A4B-it): a causal encoder, a canvas that starts as noise.

    <|turn>user … the text right of the hole … <turn|> <|turn>model … the text left of it ──▶ encoder, left to right
                                                                                              │ keys and values
    hole | first tokens of the right text   hole | first tokens …   a stretch of slots a row ─┴▶ decoder ──▶ logits

The model was trained to answer a user. So the user turn asks for the text right of the hole, and the text left of it is
a partly written answer. The first tokens of the right side also appear on the canvas, after each row's hole. These
slots are not part of the sampler's canvas: they are fixed, and neither entropies nor the stopping rule include them.
Thinking is off: the model's turn begins with the empty channel that the chat template of this size writes for it.

Typing appends to the prompt, whose keys and values are kept, so a keystroke encodes one or two tokens. All rows share
one axis, and each sees itself and the prompt. They share the prompt's keys and values, need no padding, and together
cost hardly more than one. Every layer keeps all keys, including layers with a sliding window. The window is applied by
the mask and by what the decoder gets: the last `sliding_window` - 1 tokens there, and everything within the canvas. A
prompt can therefore be cut back to its still valid part, whatever its length.

There is no mask token. An open slot holds a random token, redrawn by the loop in every step (`Order.NOISE`). The
model receives its prediction of the previous step as a mixture of embeddings (self-conditioning); fixed tokens are
passed as themselves. The layers are the library's own, `transformers.models.diffusion_gemma`, without the image layers.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from infill_engine.budget.work import Job, OutOfTime, Phase, Work
from infill_engine.errors import ModelDamagedError
from infill_engine.models.base import (
    CanvasModel,
    Context,
    Corruptor,
    Ints,
    ModelInfo,
    Order,
    ProposedLength,
)
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.models.checkpoint import files as files
from infill_engine.models.published.diffusion_gemma.network import Network
from infill_engine.models.published.diffusion_gemma.weights import load_network, text_of
from infill_engine.models.published.kinds.length_probe import Floats, LengthProbe
from infill_engine.models.published.kinds.prompts import PromptReader, cut_in_blocks
from infill_engine.models.stock.decoder import LayerMemory, Remembered, joined_ends, to_device
from infill_engine.models.stock.loader import Opened
from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.settings import ModelSettings
from infill_engine.types import HoleKind

ASK = (
    "Below is the end of a source file. Write the whole file: what comes before this end, and then the end as it is. "
    "Answer with one code block and nothing else.\n```\n"
)
FENCE = "\n```"
CLAMPED = 8  # tokens of the right side on the canvas after each row
MOST_SLOTS = 64
KEPT_PROMPTS = 2  # these prompts are the largest of all families
TEMPERATURES = (0.8, 0.4)  # of the first and the last step, unless generation_config.json sets them
CERTAIN = -3e4  # logit of all other tokens for a fixed one; finite in half precision, too


@dataclass(slots=True)
class Prompt:
    """What `Context.state` holds here: the prompt as the decoder reads it, fresh for each request.

    `layers` are cut to their windows. `length` is in tokens; `given` are the first tokens of the right side.
    `conditioning` [L, V] are the logits of the last step's prediction. `confidence` is the model's at each length.
    """

    layers: Sequence[LayerMemory]
    length: int
    given: Ints
    conditioning: Tensor | None = None
    confidence: Floats | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a canvas with the fixed tokens after each row: `ids`, `places` and `row` [L].

    `slots` [M] are the columns of the canvas's own slots.
    """

    ids: Ints
    places: Ints
    row: Ints
    slots: Ints


class DiffusionGemmaModel:
    """Implements `infill_engine.models.base.CanvasModel` and `ConditionsItself`."""

    def __init__(
        self,
        network: Network,
        vocabulary: TokenizerVocabulary,
        device: str,
        settings: ModelSettings,
        most_slots: int = MOST_SLOTS,
        temperatures: tuple[float, float] = TEMPERATURES,
    ) -> None:
        self.vocabulary = vocabulary
        self.device = device
        self._tensor = to_device(device)
        self._network = network
        self._settings = settings
        start, close = vocabulary.need("<|turn>", "<turn|>")
        (begin,) = vocabulary.need("<bos>")
        thinking, answering = vocabulary.need("<|channel>", "<channel|>")
        vocabulary.ended_by("<turn|>")
        self._ends = vocabulary.need("<eos>")
        text = vocabulary.encode
        self._asking = [begin, start, *text("user\n" + ASK)]
        self._answering = [
            *[*text(FENCE), close, *text("\n"), start, *text("model\n")],
            *[thinking, *text("thought\n"), answering, *text("```\n")],
        ]
        self._closing = [*text(FENCE), close]
        self.info = ModelInfo(
            "diffusion-gemma",
            int(network.text.vocab_size),
            vocabulary.end,  # a slot not yet written
            vocabulary.end,
            most_slots,
            order=Order.NOISE,
            copies_end=False,
            temperatures=temperatures,
            window=settings.window,
        )
        self._prompts = PromptReader(self._read, KEPT_PROMPTS)
        self._probe = LengthProbe(most_slots, vocabulary.end, self._read_sides, self._first_prediction)
        self._probed: tuple[Ints, Floats] | None = None

    @torch.inference_mode()
    def encode(self, prefix: str, suffix: str) -> Job[Context]:
        """Read the new part of the prompt and, if there is time, probe the lengths."""
        ids, given = self._tokens(prefix, suffix)
        layers, read = yield from self._prompts.layers_of(ids)
        prompt = self._prompt(layers, given)
        context = Context(prompt, read, len(ids))
        text = np.concatenate([ids, given])
        if self._probed is not None and np.array_equal(self._probed[0], text):
            prompt.confidence = self._probed[1]
        else:
            with suppress(OutOfTime):
                yield Work(Phase.READ, self.step_size(context, self._probe.lengths, 0))
                prompt.confidence = self._probe.confidence(prompt)
                self._probed = text, prompt.confidence
        return context

    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:
        return self._probe.propose(kind, context.state.confidence, limit)

    def step_size(self, context: Context, lengths: Sequence[int], number: int) -> int:  # noqa: ARG002
        return sum(lengths) + len(lengths) * len(context.state.given)

    @torch.inference_mode()
    def denoise(self, context: Context, canvas: Canvas, wanted: Ints) -> Tensor:
        prompt: Prompt = context.state
        layout = self._layout(prompt, canvas)
        row = self._tensor(layout.row)
        ids, places, own = self._tensor(layout.ids), self._tensor(layout.places), row[:, None] == row
        states = self._network.states(ids, places, own, prompt.layers, prompt.conditioning)
        logits = self._network.logits(states[self._tensor(layout.slots[wanted])])
        return joined_ends(logits, self.info.eos_id, self._ends)

    @torch.inference_mode()
    def condition(self, context: Context, canvas: Canvas, wanted: Ints, logits: Tensor) -> None:
        prompt: Prompt = context.state
        layout = self._layout(prompt, canvas)
        shape = len(layout.ids), self.info.vocabulary
        told = torch.full(shape, CERTAIN, dtype=self._network.dtype, device=self.device)
        told.scatter_(1, self._tensor(layout.ids)[:, None], 0.0)
        told[self._tensor(layout.slots[wanted])] = logits.to(told.dtype)
        prompt.conditioning = told

    def _first_prediction(self, prompt: Prompt, canvas: Canvas) -> Tensor:
        Corruptor(self.info, canvas.rows, prompt.length).fill(canvas)
        return self.denoise(Context(prompt, 0, 0), canvas, np.arange(canvas.slots))

    def _read_sides(self, prefix: str, suffix: str) -> Prompt:
        ids, given = self._tokens(prefix, suffix)
        return self._prompt(self._read([], ids), given)

    def _tokens(self, prefix: str, suffix: str) -> tuple[Ints, Ints]:
        """Return the prompt's tokens and the fixed tokens of the canvas."""
        before = self.vocabulary.encode(prefix.replace("\r\n", "\n"))
        behind = self.vocabulary.encode(suffix.replace("\r\n", "\n"))[: self._settings.suffix_tokens]
        cut = cut_in_blocks(before, self._settings.prefix_tokens)
        ids = np.array([*self._asking, *behind, *self._answering, *cut], np.int64)
        return ids, np.array([*behind, *self._closing][:CLAMPED], np.int64)

    def _read(self, layers: list[LayerMemory], ids: Ints) -> list[LayerMemory]:
        memory, past = Remembered(layers), layers[0][0].shape[2] if layers else 0
        windows = self._network.windows.items()
        self._network.encoder(
            input_ids=self._tensor(ids)[None],
            position_ids=torch.arange(past, past + len(ids), device=self.device)[None],
            attention_mask={kind: _seen_left(past, len(ids), window).to(self.device) for kind, window in windows},
            past_key_values=memory,
        )
        return memory.layers

    def _prompt(self, layers: Sequence[LayerMemory], given: Ints) -> Prompt:
        """Return what the decoder reads of a prompt."""
        length, windows = layers[0][0].shape[2], self._network.windows
        firsts = [max(0, length + 1 - (windows[kind] or length + 1)) for kind in self._network.text.layer_types]
        read = [
            (keys[:, :, first:], values[:, :, first:]) for first, (keys, values) in zip(firsts, layers, strict=True)
        ]
        return Prompt(read, length, given)

    def _layout(self, prompt: Prompt, canvas: Canvas) -> Layout:
        given = len(prompt.given)
        row = np.repeat(np.arange(canvas.rows), canvas.lengths + given)
        slots = np.arange(canvas.slots) + canvas.row * given  # each row's slots, then its fixed tokens
        behind = np.setdiff1d(np.arange(len(row)), slots)
        ids, places = np.zeros_like(row), np.zeros_like(row)
        ids[slots], ids[behind] = canvas.ids, np.tile(prompt.given, canvas.rows)
        places[slots] = prompt.length + canvas.index
        places[behind] = prompt.length + (canvas.lengths[:, None] + np.arange(given)).ravel()
        return Layout(ids, places, row, slots)


def load(opened: Opened) -> CanvasModel:
    """Load a checkpoint with the model type `diffusion_gemma`, without its vision tower. Raises ModelError."""
    checkpoint, device, settings = text_of(opened.checkpoint), opened.device, opened.settings
    network = load_network(checkpoint, device, opened.dtype, settings.stored)
    most_slots = max(1, min(MOST_SLOTS, checkpoint.config["canvas_length"] - CLAMPED))
    temperatures = _temperatures(checkpoint.folder)
    return DiffusionGemmaModel(network, opened.vocabulary, device, settings, most_slots, temperatures)


def _temperatures(folder: Path) -> tuple[float, float]:
    """Return the temperatures of the first and last step, from generation_config.json if it has them."""
    path = folder / "generation_config.json"
    try:
        stated = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        first, last = (float(stated.get(name) or TEMPERATURES[at]) for at, name in enumerate(("t_max", "t_min")))
    except (ValueError, TypeError, AttributeError, OSError) as error:
        raise ModelDamagedError(f"{path} cannot be read ({error}); {files.REMEDY}") from error
    if min(first, last) <= 0:
        raise ModelDamagedError(f"{path}: temperatures must be above zero, not {first} and {last}; {files.REMEDY}")
    return first, last


def _seen_left(past: int, new: int, window: int | None) -> Tensor:
    """Return the mask [1, 1, new, past + new] of the `new` tokens over all `past + new` tokens.

    Each sees itself and those before it. A `window` limits that to so many tokens, itself included.
    """
    place, key = torch.arange(past, past + new)[:, None], torch.arange(past + new)
    seen = key <= place
    return (seen if window is None else seen & (key > place - window))[None, None]

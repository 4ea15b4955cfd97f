"""The default model's family in miniature; its reference is the forward pass used in training.

Inference puts all rows on one flat axis and caches what it has read; training passes over a whole window at once.
"""

import shutil
from pathlib import Path

import torch
from torch import Tensor

from infill_engine.models.checkpoint.folder import SMALL_FOLDER
from infill_engine.models.small.network.config import DualEncoderConfig
from infill_engine.models.small.network.dual_encoder import MAX_SLOTS, DualEncoder
from infill_engine.models.small.network.layers import Frames, Visible
from infill_engine.models.small.network.weights import load_network, save_network
from infill_engine.models.small.vocabulary import BytesVocabulary
from train.small.objective import edge_states

CONFIG = DualEncoderConfig(dim=48, heads=4, hidden=96, encoder_layers=2, decoder_layers=2, ngram_slots=256)


def publish(folder: Path) -> DualEncoder:
    """Write a random network as a checkpoint of the family, and return the network as loaded from its files."""
    torch.manual_seed(0)
    save_network(DualEncoder(CONFIG), folder)
    shutil.copyfile(SMALL_FOLDER / "tokenizer.json", folder / "tokenizer.json")
    return load_network(folder)


def reference(network: DualEncoder, row: list[int], text: tuple[str, str]) -> Tensor:
    """Return logits of every slot of `row`, computed as in training."""
    return trained_logits(network, BytesVocabulary(SMALL_FOLDER / "tokenizer.json"), row, text)


def trained_logits(network: DualEncoder, vocabulary: BytesVocabulary, row: list[int], text: tuple[str, str]) -> Tensor:
    """Return logits [len(row), V] of the slots of `row` between the two texts, as one hole in a whole window."""
    before, after = (vocabulary.encode(side) for side in text)
    window = torch.tensor([[*before, *([5] * 3), *after]])  # the tokens in the hole do not matter
    length, start, end, total = len(row), len(before), len(before) + 3, window.shape[1]
    streams = network.streams(window)
    index = torch.arange(length)[None]
    starts, ends = torch.full((1, length), start), torch.full((1, length), end)
    frames = Frames(
        network.rotary(index), network.rotary(start + index), network.rotary(total - end - 1 + MAX_SLOTS - index)
    )
    positions = torch.arange(total)
    visible = Visible(
        prefix=torch.where(positions < start, 0.0, -1e9).expand(1, 1, length, -1),
        suffix=torch.where(total - 1 - positions >= end, 0.0, -1e9).expand(1, 1, length, -1),
    )
    edge = edge_states(streams.prefix, streams.suffix, starts, ends, torch.ones((1, length), dtype=torch.bool))
    kind = torch.zeros((1, length), dtype=torch.long)
    x = network.canvas_input(torch.tensor([row]), length - 1 - index, kind, edge)
    tables = network.rotary(positions)
    prefix, suffix = (network.context_kv(states, tables) for states in (streams.prefix, streams.suffix))
    states = network.decode(x, frames, prefix, suffix, visible)
    return network.logits(states)[0]

"""Training of mask rows: they are laid out as they are served, they learn, and a run goes on where it stopped."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "models" / "trunk"))

import tiny_gguf
from tiny_gguf import silent, write_gguf, write_plan

from infill_engine.errors import TrainingError
from infill_engine.models.quantization.int8_kernels import KERNELS, is_exact
from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.denoiser import BLOCK
from infill_engine.models.trunk.files.convert import convert
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.loading import build_network
from infill_engine.models.trunk.network import normed
from infill_engine.models.trunk.products import Int8Products
from infill_engine.models.trunk.prompt import Prompt
from infill_engine.models.trunk.slots import MIDDLE, PREFIX, SUFFIX, TEXTS, joined, mask_rows, prompt_rows, text_rows
from infill_engine.models.trunk.torch_backend import TorchBackend
from infill_engine.training.trunk.blocks import lay_out_blocks
from infill_engine.training.trunk.data import HoleExample, Window, lay_out
from infill_engine.training.trunk.denoise import _save, open_run, step
from infill_engine.training.trunk.denoised import DenoisedTrunk, Slots, survival_of
from infill_engine.training.trunk.run_folder import CHECKPOINT

KERNEL = next((kernel for kernel in KERNELS if is_exact(kernel)), None)
pytestmark = pytest.mark.skipif(KERNEL is None, reason="no int8 kernel is exact on this CPU")
CONTEXT, MIDDLE_TOKENS = [50, 11, 4], [50, 30, 31, 5, 8, 13, 2]
WINDOW = Window(
    [50, *range(1, 32), 7, 3],
    [HoleExample(12, CONTEXT, MIDDLE_TOKENS, 4, "line"), HoleExample(30, [50, 9], [50, 4, 6, 8, 2], 3, "line")],
)


@pytest.fixture
def weights(tmp_path, monkeypatch):
    monkeypatch.setattr(tiny_gguf, "KEPT", [f"token{number}" for number in range(50)] + ["<|fim_prefix|>"])
    source = write_gguf(tmp_path / "tiny.gguf")
    convert(tmp_path / "tiny.gguf", tmp_path / "trunk", write_plan(tmp_path / "made-from", source), silent)
    return TrunkWeights(tmp_path / "trunk")


def test_slots_are_the_tokens_after_the_anchors_next_and_end_with_the_hole():
    blocks = lay_out_blocks(WINDOW, lay_out(WINDOW), 1000, random.Random(0), (BLOCK,))
    anchors = [number for number, place in enumerate(blocks.places.tolist()) if place == 0]
    found = set()
    for number in anchors:
        end = next((n for n in anchors if n > number), len(blocks.places))
        found.add((int(blocks.before[number]), *blocks.targets[number:end].tolist()))
    assert (30, 31, 5, 8, 13) in found  # behind the middle marker
    assert (13, 2) in found
    assert not any(2 in block[:-1] and block[-1] != 5 and 13 in block for block in found)
    assert all(len(block) <= BLOCK + 1 for block in found)


class Unrounded:
    """A matrix of int8 that does not round what it is multiplied with."""

    def __init__(self, weight, scale):
        self.matrix = weight.float() * scale[:, None]

    def product(self, x):
        return x @ self.matrix.t()


def test_mask_rows_are_served_as_they_are_trained(weights):
    torch.manual_seed(3)
    trunk = DenoisedTrunk(weights, Adapter(), Unrounded, 2)
    with torch.no_grad():
        for parameter in trunk.parameters.values():
            parameter.copy_(torch.randn(parameter.shape) / 4)
    laid = lay_out(WINDOW)
    blocks = lay_out_blocks(WINDOW, laid, 1000, random.Random(0), (3,))
    with torch.no_grad():
        context, _ = trunk._read(laid)
        states = trunk._mask_states(blocks, context)
        trained = torch.log_softmax(trunk.frozen.logits(normed(trunk.frozen, states)), -1)
    slots = list(zip(blocks.before.tolist(), blocks.targets.tolist(), blocks.places.tolist(), strict=True))
    start = slots.index((5, 8, 0))
    denoiser = trunk.denoiser((0.5,) * BLOCK)
    backend = TorchBackend(
        build_network(weights, Adapter(), Int8Products(Unrounded), denoiser=denoiser),
        denoiser=denoiser.to("cpu", torch.float32),
    )
    prompt = Prompt(tuple(WINDOW.prefix[:12]), tuple(CONTEXT), (50, 30))
    at = [*range(PREFIX, PREFIX + 12), *range(SUFFIX, SUFFIX + 3), MIDDLE, MIDDLE + 1]
    rows = joined(prompt_rows(prompt, at), text_rows(prompt, [31], [0], [TEXTS], [[]]))
    found = backend.run(backend.new_buffer(), rows, 0, mask_rows(rows, [(len(rows) - 1, 3)])).proposals
    expected = trained[start : start + 3].gather(1, torch.from_numpy(found.tokens)).numpy()
    np.testing.assert_allclose(found.logprobs, expected, atol=5e-3)


def test_the_loss_falls_and_a_run_goes_on_from_its_checkpoint(weights, tmp_path):
    run = open_run(tmp_path / "run", weights, Adapter(), 4)
    rng = random.Random(1)
    losses = [step(run, [WINDOW], 1e-2, rng)[0] for _ in range(40)]
    assert sum(losses[-5:]) < 0.92 * sum(losses[:5])
    run.progress["steps"] = 40
    _save(run)
    again = open_run(tmp_path / "run", weights, Adapter(), 4)
    assert again.progress == run.progress
    assert all(map(torch.equal, again.trunk.parameters.values(), run.trunk.parameters.values()))
    (tmp_path / "run" / CHECKPOINT).write_bytes(b"damaged")
    with pytest.raises(TrainingError, match=CHECKPOINT):
        open_run(tmp_path / "run", weights, Adapter(), 4)


def test_training_starts_from_the_frozen_trunk_and_real_rows_have_no_gradient(weights):
    trunk = DenoisedTrunk(weights, Adapter(), KERNEL, 2)
    slots = trunk.learn(WINDOW, 8, random.Random(0))
    slots.losses.sum().backward()
    assert all(parameter.grad is not None for name, parameter in trunk.parameters.items() if name.endswith(".up"))
    assert trunk.parameters["masks"].grad.abs().sum() > 0


def test_survival_counts_blocks_that_were_right_so_far():
    places, right = torch.tensor([0, 1, 2, 0, 1, 0]), torch.tensor([True, False, True, True, True, False])
    slots = [Slots(places, torch.zeros(6), right, right)]
    assert survival_of(slots) == (pytest.approx(2 / 3, abs=1e-3), 0.5, 0.0, 0.0)

"""A short real training run: it learns, stops cleanly, and goes on where it stopped."""

import json
import math
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy

from infill_engine.budget.work import finished
from infill_engine.errors import InputError, TrainingError
from infill_engine.models.small import prompts as prompting
from infill_engine.models.small.backends.torch_backend import TorchBackend
from infill_engine.models.small.model import SmallModel
from infill_engine.models.small.network.dual_encoder import EOS, LENGTH_BUCKETS, MASK, PREFIX, DualEncoder
from infill_engine.models.small.vocabulary import BytesVocabulary
from infill_engine.types import HoleKind
from train.corpus.holes import KINDS
from train.corpus.pack import pack_text
from train.small.__main__ import (
    SIZES,
    WARMUP_STEPS,
    compiled_losses,
    open_run,
    parse_options,
    start,
    step,
)
from train.small.checkpoint import load_state
from train.small.data import BatchShape, HoleSettings, Part, draw_window, load_part, stacked
from train.small.objective import (
    LossSettings,
    edge_states,
    length_loss,
    losses,
    prompt_loss,
    prompt_loss_alone,
)
from train.small.optimiser import ADAM_RATE, MUON_RATE
from train.small.plot import chain

SOURCE = Path(__file__).parents[2] / "infill_engine"
TOKENIZER = SOURCE / "weights" / "small" / "tokenizer.json"
MOST_SKIPPED = 3  # in place of the usual number, each of which is a whole step


@pytest.fixture(scope="module")
def parts(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    texts = [path.read_text() for path in sorted((SOURCE / "context").rglob("*.py"))]
    packed = [pack_text(text, tokenizer, random.Random(0)) for text in texts]
    offsets = np.cumsum([0, *(len(tokens) for tokens, _ in packed)])[:-1]
    holes = [holes + np.array([at, at, 0], dtype=np.int32) for at, (_, holes) in zip(offsets, packed, strict=True)]
    tokens = np.concatenate([tokens for tokens, _ in packed])
    np.savez_compressed(folder / "part-000.npz", tokens=tokens, holes=np.concatenate(holes))
    return folder


def test_windows_hold_their_holes(parts: Path) -> None:
    part = load_part(parts / "part-000.npz")
    rng = np.random.default_rng(0)
    for _ in range(30):
        window = draw_window(part, BatchShape(), HoleSettings(), rng)
        for hole in set(window["hole"].tolist()) - {-1}:
            at = window["hole"] == hole
            start, end = int(window["start"][at][0]), int(window["end"][at][0])
            text = window["target"][at].tolist()
            assert text[: end - start] == window["tokens"][start:end].tolist()
            assert set(text[end - start :]) <= {EOS}
            assert len(text) in LENGTH_BUCKETS
            assert (window["ids"][at] == MASK).any()
            assert window["index"][at].tolist() == window["left"][at].tolist()[::-1] == list(range(len(text)))
            assert (end <= window["seen"][at]).all()
            bucket = LENGTH_BUCKETS[window["length_bucket"][hole]]
            assert bucket >= end - start
        assert (window["weight"][window["hole"] < 0] == 0).all()


def test_prompts_are_learned_as_they_are_read(
    parts: Path, network: DualEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All prompts of a batch at once, and each as the default family reads it where it lets a prompt see all above."""
    monkeypatch.setattr(prompting, "MOST_ABOVE", BatchShape().tokens)
    part, rng = load_part(parts / "part-000.npz"), np.random.default_rng(0)
    batch = stacked([draw_window(part, BatchShape(), HoleSettings(), rng) for _ in range(3)])
    family = SmallModel(TorchBackend(network, "cpu"), BytesVocabulary(TOKENIZER))
    anywhere, entropies, weights = finished(family.encode("x = 1", "")).state, [], []
    for window, tokens in enumerate(batch["tokens"].numpy()):
        holes = zip(*(batch[f"length_{name}"][window].tolist() for name in ("start", "end", "kind")), strict=True)
        prompted = {(start, end) for start, end, kind in holes if KINDS[kind] is not HoleKind.BLOCK}
        for number, weight in enumerate(batch["prompt_weight"][window]):
            weight = weight[weight > 0]
            if not len(weight):
                continue  # the window has fewer holes
            start, shown = (int(batch[f"prompt_{name}"][window, number]) for name in ("start", "shown"))
            hole_start, hole_end = start + 1 + int((weight < 1).sum()), start + len(weight)
            assert (hole_start, hole_end) in prompted
            target = batch["prompt_target"][window, number, : len(weight)]
            assert target.tolist() == [*tokens[start + 1 : hole_end], EOS]
            after = tokens[hole_end : hole_end + shown - 1].tolist()
            assert batch["prompt_aside"][window, number, :shown].tolist() == [MASK, *after]
            before = tokens[:hole_end].astype(np.int64)
            above, _ = finished(family.streams.encode(before, PREFIX))
            sides = replace(anywhere, stream=above, before=before, after=tuple(after))
            prompt = family.prompts.begin(sides, start)
            entropies.append(weight * cross_entropy(network.logits(prompt.states)[0], target, reduction="none"))
            weights.append(weight)
    assert len(entropies) > 5
    found = prompt_loss(network, network.streams(batch["tokens"]).encoder, batch)
    torch.testing.assert_close(found, prompt_loss_alone(network, batch))
    torch.testing.assert_close(found, torch.cat(entropies).sum() / torch.cat(weights).sum(), atol=1e-4, rtol=1e-4)


def test_lengths_are_learned_without_a_suffix_too(parts: Path, network: DualEncoder) -> None:
    """The head is then given what serving gives it at a text's end: no state to the right of the hole."""
    part, rng = load_part(parts / "part-000.npz"), np.random.default_rng(0)
    batch = stacked([draw_window(part, BatchShape(), HoleSettings(no_suffix=0.5), rng) for _ in range(3)])
    used, seen = batch["length_bucket"] >= 0, batch["length_seen"]
    assert 0.2 < seen[used].float().mean() < 0.8
    streams = network.streams(batch["tokens"])
    right = edge_states(streams.prefix, streams.suffix, batch["length_start"], batch["length_end"], seen).chunk(2, -1)[
        1
    ]
    assert (right.abs().sum(-1) > 0).equal(seen)
    hidden = length_loss(network, streams, batch | {"length_seen": torch.zeros_like(seen)})
    assert not torch.isclose(hidden, length_loss(network, streams, batch))


def test_windows_without_holes_have_finite_losses(parts: Path, network: DualEncoder) -> None:
    part = load_part(parts / "part-000.npz")
    part = Part(part.tokens, part.holes[:0])
    windows = [draw_window(part, BatchShape(), HoleSettings(), np.random.default_rng(seed)) for seed in range(2)]
    found = losses(network, stacked(windows), LossSettings(), canvases=True)
    assert all(math.isfinite(value.item()) for value in found.values())
    assert found["canvas"] == found["prompt"] == found["length"] == 0


def test_steps_without_a_finite_gradient_are_skipped_until_they_are_too_many(
    parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("train.small.__main__.MOST_SKIPPED", MOST_SKIPPED)
    part = load_part(parts / "part-000.npz")
    good = stacked([draw_window(part, BatchShape(), HoleSettings(), np.random.default_rng(0))])
    bad = good | {"weight": good["weight"] * math.nan}
    run = open_run(tmp_path, torch.device("cpu"), SIZES["tiny"])
    compute = compiled_losses(run, eager=True)
    before = {name: tensor.clone() for name, tensor in run.model.state_dict().items()}
    for _ in range(MOST_SKIPPED - 1):
        step(run, compute, bad, canvases=True)
    torch.testing.assert_close(run.model.state_dict(), before)
    assert (run.progress.steps, run.skipped) == (0, MOST_SKIPPED - 1)
    with pytest.raises(TrainingError, match="--eager"):
        step(run, compute, bad, canvases=True)
    step(run, compute, good, canvases=True)
    assert (run.progress.steps, run.skipped) == (1, 0)


@pytest.fixture
def train_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Return what trains in this process, which has imported torch."""
    signals = (signal.SIGTERM, signal.SIGINT)
    before = [signal.getsignal(number) for number in signals]

    def train(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["small", *arguments])
        start(parse_options())

    yield train
    for number, handler in zip(signals, before, strict=True):
        signal.signal(number, handler)


def test_a_run_learns_and_goes_on(parts: Path, tmp_path: Path, train_here: Callable[..., None]) -> None:
    options = ["--data", str(parts), "--windows", "1", "--streams-first", "0", "--eager", "--loaders", "0"]
    options += ["--size", "tiny", "--steps", "25"]
    run = ["--run", str(tmp_path / "run")]
    command = [sys.executable, "-m", "train.small"]
    ran = subprocess.run([*command, *options, *run], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    train_here(*options, *run)
    train_here(*options, *run, "--minutes", "5", "--decay-minutes", "5")
    trunk, decayed = (load_state(tmp_path / "run" / name)["progress"] for name in ("trunk.pt", "decayed.pt"))
    assert (trunk["steps"], decayed["steps"]) == (50, 75)
    assert decayed["minutes"]["cpu"] > trunk["minutes"]["cpu"] > 0
    logged = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in logged] == [25, 50, 75]
    assert all(logged[-1][loss] < 0.8 * logged[0][loss] for loss in ("prefix", "suffix", "canvas", "prompt"))
    assert all(math.isfinite(entry["length"]) for entry in logged)  # in so few steps it hardly falls
    export = ["--checkpoint", str(tmp_path / "run" / "decayed.pt"), "--tokenizer", str(TOKENIZER)]
    model = str(tmp_path / "model")
    subprocess.run([sys.executable, "-m", "train.small.export", *export, "--out", model], check=True)
    train_here(*options, "--run", str(tmp_path / "again"), "--init", model, "--peak", "0.1")
    state = load_state(tmp_path / "again" / "trunk.pt")
    assert state["progress"]["steps"] == 100
    rates = [optimiser["param_groups"][0]["lr"] for optimiser in state["optimisers"]]
    assert rates == pytest.approx([0.1 * rate * 25 / WARMUP_STEPS for rate in (MUON_RATE, ADAM_RATE)])
    steps = [json.loads(line)["step"] for line in (tmp_path / "again" / "log.jsonl").read_text().splitlines()]
    assert steps == [25, 50, 75, 100]


def test_a_damaged_checkpoint_is_said(tmp_path: Path) -> None:
    (tmp_path / "trunk.pt").write_bytes(b"not a checkpoint")
    with pytest.raises(InputError, match="move it away"):
        load_state(tmp_path / "trunk.pt")


def test_missing_parts_are_said(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "train.small", "--data", str(tmp_path), "--run", str(tmp_path / "run")],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1
    assert "train.corpus.pack" in ran.stderr


def test_what_was_gone_back_behind_is_not_drawn() -> None:
    logged = [{"tokens": tokens, "step": step} for step, tokens in enumerate([1, 2, 3, 4, 2, 3])]
    assert [entry["step"] for entry in chain(logged)] == [0, 4, 5]
    assert chain([]) == []


def test_the_losses_can_be_drawn(tmp_path: Path) -> None:
    log = [
        {"tokens": 1e6 * n, "prefix": 9 / n, "suffix": 9 / n} | ({"canvas": 9 / n} if n > 3 else {}) for n in (1, 2, 4)
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log))
    ran = subprocess.run([sys.executable, "-m", "train.small.plot", "--run", str(tmp_path)])
    assert ran.returncode == 0
    assert (tmp_path / "losses.png").read_bytes().startswith(b"\x89PNG")

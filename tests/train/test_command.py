"""The kit for a machine with a GPU: what is packed trains there, and what comes back is a checkpoint. Here on a CPU."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

sys.path.append(str(Path(__file__).parents[1] / "infill_engine" / "models" / "trunk"))

from tiny_gguf import silent, write_gguf, write_plan
from train.denoiser import kit
from train.denoiser.run import CHECKPOINT, Run
from train.denoiser.texts import LIKELIEST, Text, save_piece

from infill_engine.errors import TrainingError
from infill_engine.models.trunk.files.convert import convert

TOKENS = 4  # the tiny trunk's vocabulary
BLOCKED = "cachetools gguf lsprotocol msgspec pathspec platformdirs psutil pygls rich tree_sitter transformers".split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny trunk, and texts to train on and to evaluate on."""
    made = tmp_path_factory.mktemp("kit")
    source = write_gguf(made / "tiny.gguf")
    convert(made / "tiny.gguf", made / "trunk", write_plan(made / "made-from", source), silent)
    generator = torch.Generator().manual_seed(0)
    for name in ("texts/a", "texts/b", "held-out"):
        (made / name).mkdir(parents=True)
        texts = []
        for _ in range(6):
            tokens = torch.randint(TOKENS, (40,), generator=generator)
            likeliest = torch.randint(TOKENS, (40, LIKELIEST), generator=generator)
            likeliest[:-1, 0] = tokens[1:]
            texts.append(Text(tokens, 10, likeliest, torch.full((40, LIKELIEST), -2.0)))
        save_piece(made / name / "piece-0000.safetensors", texts)
    return made


def call(*arguments: str, module: str = "train.denoiser.kit", code: str = "") -> subprocess.Popen[str]:
    command = ["-c", code, *arguments] if code else ["-m", module, *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finished(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    return said


def paths(folder: Path, **named: str) -> list[str]:
    return [word for option, name in named.items() for word in (f"--{option.replace('_', '-')}", str(folder / name))]


def test_what_is_packed_trains_without_the_other_dependencies_and_comes_back(folder):
    save_file({"vocabulary": torch.tensor([0, 1, 3])}, folder / "words.safetensors")
    packed = paths(
        folder, texts="texts", held_out="held-out", trunk="trunk", vocabulary="words.safetensors", out="parts"
    )
    finished(call("pack", *packed))
    blocker = f"""
import runpy, sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {BLOCKED}: raise ImportError(name + " is not there")
sys.meta_path.insert(0, Blocker())
runpy.run_module("train.denoiser.kit", run_name="__main__", alter_sys=True)
"""
    # A device that is not called "cpu" uses no int8 kernel, which would need other parts of the engine.
    options = ["--until", "60", "--device", "cpu:0", "--slots", "600", "--first-layer", "2"]
    said = finished(call("train", *paths(folder, parts="parts", out="results"), *options, code=blocker))
    assert "tokens a verify pass" in said
    kit.join(folder / "results", folder / "joined")
    run = Run.load(folder / "joined")
    assert run is not None
    assert run.shape.first_layer == 2
    assert run.vocabulary.tolist() == [0, 1, 3]
    assert run.progress.slots >= 600
    assert all(torch.isfinite(tensor).all() for tensor in run.weights.values())
    finished(call("pack", *paths(folder, texts="texts", trunk="trunk", start="joined", out="again")))
    assert (folder / "again" / "part-00").stat().st_size > (folder / "joined" / CHECKPOINT).stat().st_size


def test_parts_are_checked(tmp_path):
    content = os.urandom(2500)
    kit.write_parts(content, tmp_path, 1000)
    assert len(list(tmp_path.glob("part-*"))) == 3
    assert kit.read_parts(tmp_path) == content
    (tmp_path / "part-01").write_bytes(b"something else")
    with pytest.raises(TrainingError, match="part-01 is damaged"):
        kit.read_parts(tmp_path)
    (tmp_path / "part-01").unlink()
    with pytest.raises(TrainingError, match="part-01 cannot be read"):
        kit.read_parts(tmp_path)


def test_a_run_that_is_told_to_stop_saves_and_goes_on(folder):
    where = [*paths(folder, run="stopped", texts="texts", held_out="held-out", trunk="trunk"), "--workers", "2"]
    process = call(*where, module="train.denoiser", code="")
    checkpoint = folder / "stopped" / CHECKPOINT
    deadline = time.monotonic() + 100
    while not (folder / "stopped").is_dir() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(3)
    process.send_signal(signal.SIGTERM)
    finished(process)
    first = Run.load(folder / "stopped")
    assert checkpoint.is_file()
    assert first is not None
    slots = first.progress.slots
    finished(call(*where, "--slots", str(slots + 500), module="train.denoiser"))
    assert Run.load(folder / "stopped").progress.slots >= slots + 500

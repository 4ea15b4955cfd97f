"""The command: a task trains without the other dependencies, is stopped, resumes, and what it exports is served."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "infill_engine" / "models" / "trunk"))

from tiny_gguf import silent, write_gguf, write_plan

from infill_engine.errors import TrainingError
from infill_engine.models.trunk.denoiser import DENOISER
from infill_engine.models.trunk.files.convert import convert
from infill_engine.models.trunk.sources import ShardsSource
from train import checkpoint, parts
from train.mask_rows.texts import LIKELIEST, Text, save_piece

TOKENS = 4  # the tiny trunk's vocabulary
BLOCKED = "cachetools gguf lsprotocol msgspec pathspec platformdirs psutil pygls rich tree_sitter transformers".split()
WITHOUT = f"""
import runpy, sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {BLOCKED}: raise ImportError(name + " is not there")
sys.meta_path.insert(0, Blocker())
module = sys.argv.pop(1)
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
# A device that is not called "cpu" needs no part of the engine that is blocked.
ELSEWHERE = ["--device", "cpu:0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny trunk, and texts to train on and to evaluate on."""
    made = tmp_path_factory.mktemp("command")
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


def call(module: str, *arguments: str, bare: bool = False) -> subprocess.Popen[str]:
    command = ["-c", WITHOUT, module, *arguments] if bare else ["-m", module, *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finished(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return said


def mask_rows(folder: Path, run: str, *arguments: str) -> list[str]:
    given = {"--run": run, "--texts": "texts", "--held-out": "held-out", "--trunk": "trunk"}
    return ["mask-rows", *(word for option, name in given.items() for word in (option, str(folder / name))), *arguments]


def seen(run: Path) -> int:
    return checkpoint.read(run, "cpu")["seen"]


def test_a_task_trains_on_a_bare_machine_and_its_export_is_served(folder):
    settings = [*ELSEWHERE, "--first-layer", "2", "--batch", "2", "--evaluated", "3"]
    assert "tokens a verify pass" in finished(
        call("train", *mask_rows(folder, "run", "--examples", "4", *settings), bare=True)
    )
    finished(call("train.parts", "split", "--run", str(folder / "run"), "--out", str(folder / "results"), bare=True))
    finished(call("train.parts", "join", str(folder / "results"), "--out", str(folder / "again"), bare=True))
    assert seen(folder / "again") == 4
    finished(call("train", *mask_rows(folder, "again", "--examples", "6", *settings)))
    assert seen(folder / "again") == 6
    finished(call("train", *mask_rows(folder, "again", "--export", str(folder / "trunk" / DENOISER))))
    served = ShardsSource(folder / "trunk", folder / "trunk").denoiser()
    assert served.first_layer == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_at_any_moment_goes_on(folder, number):
    where = mask_rows(folder, f"stopped-{number}", *ELSEWHERE, "--first-layer", "2", "--batch", "1", "--evaluated", "1")
    finished(call("train", *where, "--examples", "2"))
    process = call("train", *where)
    assert process.stdout.readline() == "2 examples seen\n"
    time.sleep(0.5)
    process.send_signal(number)
    process.communicate(timeout=300)
    before = seen(folder / f"stopped-{number}")
    assert before > 2 if number == signal.SIGTERM else before == 2
    finished(call("train", *where, "--examples", str(before + 2)))
    assert seen(folder / f"stopped-{number}") == before + 2


def test_without_texts_an_error_says_what_to_do(folder):
    process = call("train", *mask_rows(folder, "none", "--texts", str(folder / "nothing"), *ELSEWHERE))
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "write some with train.mask_rows.write" in said


def test_parts_are_checked(tmp_path):
    content = os.urandom(2500)
    parts.write_parts(content, tmp_path, 1000)
    assert len(list(tmp_path.glob("part-*"))) == 3
    assert b"".join(parts.read_parts(tmp_path)) == content
    (tmp_path / "part-01").write_bytes(b"something else")
    with pytest.raises(TrainingError, match="part-01 is damaged"):
        list(parts.read_parts(tmp_path))
    (tmp_path / "part-01").unlink()
    with pytest.raises(TrainingError, match="part-01 cannot be read"):
        list(parts.read_parts(tmp_path))

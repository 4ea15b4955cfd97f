"""Every family in miniature passes its checks, and an adapter that computes something else does not."""

from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor

from bench.families import __main__ as command
from bench.families import fim, masked
from bench.families.checks import MINIATURES, Check, Miniature, Reference, check_family
from infill_engine.errors import InputError
from infill_engine.models.canvas_loading import FAMILIES


@pytest.mark.parametrize("name", MINIATURES)
def test_every_family_is_sound(name: str) -> None:
    found = list(check_family(name))
    assert [check.name for check in found] == ["loads", "reference", "rows", "given slots", "same answer"]
    assert all(check.ok for check in found), found


def test_no_family_is_left_out(tmp_path: Path) -> None:
    made = {about.config["model_type"] for about in masked.PUBLISHED.values()}
    made |= {about.model_type for about in fim.PUBLISHED.values()}
    assert {name.lower() for name in FAMILIES} <= {name.lower() for name in made}


def test_another_shift_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(folder: Path) -> Reference:
        network = masked.stock_network("qwen2")
        masked.publish("dream", network, folder)
        return partial(masked.reference, "a2d-qwen2", network)  # the same network, read without the shift

    monkeypatch.setitem(MINIATURES, "dream", Miniature("dream", write))
    assert {check.name: check.ok for check in check_family("dream")} == {
        "loads": True,
        "reference": False,
        "rows": True,
        "given slots": True,
        "same answer": True,
    }


def test_what_cannot_be_loaded_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(folder: Path) -> Reference:
        masked.publish("llada", masked.stock_network("llama"), folder)
        (folder / "model.safetensors").write_bytes(b"cut")
        return lambda row, text: torch.zeros(len(row), 1) if text else Tensor()

    monkeypatch.setitem(MINIATURES, "llada", Miniature("llada", write))
    (found,) = check_family("llada")
    assert not found.ok
    assert "damaged or cut short" in found.detail


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(InputError, match=r"dream.*mellum"):
        list(check_family("nothing"))


def test_the_command_prints_every_check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = [Check("dream", "loads", True, "to cpu"), Check("dream", "reference", False, "logits differ")]
    monkeypatch.setattr(command, "check_family", lambda _name, _device: iter(found))
    monkeypatch.setattr("sys.argv", ["families", "dream"])
    assert command.main() == 1
    said = capsys.readouterr().out
    assert "ok    dream" in said
    assert "FAIL  dream             reference    logits differ" in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nothing"], "there are dream"),
        (["dream", "--device", "nowhere"], "device `nowhere` is not available here"),
    ],
)
def test_the_command_says_what_does_not_exist(
    arguments: list[str], expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["families", *arguments])
    assert command.main() == 2
    assert expected in capsys.readouterr().err

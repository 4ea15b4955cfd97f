"""Every family on a device other than the CPU: no tensor is left behind, and its answers are those of the CPU."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from few_passes import answer_in_few_passes
from local_engine import engine_of
from pretended_device import pretended

from bench.families.checks import MINIATURES, check_family
from infill_engine import InfillRequest, load_engine
from infill_engine.budget.work import finished
from infill_engine.errors import InputError
from infill_engine.models.base import CanvasModel
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.runtime.devices import choose_device
from infill_engine.settings import ModelSettings
from infill_engine.types import Draft

EXACT = ModelSettings(dtype="fp32", prefix_tokens=128, suffix_tokens=128)
TEXT = ("x = [1:", ":2]\nfor i in range(10):\n")
LATER = ("x = [1:30", TEXT[1])  # after some more characters
# One of each adapter: the others differ in names and numbers.
ADAPTERS = ("dream", "mellum", "stable-diffcoder")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A miniature of every family on disk, made when it is first asked for."""

    class Folders(dict[str, Path]):
        def __missing__(self, name: str) -> Path:
            folder = tmp_path_factory.mktemp(name)
            MINIATURES[name].write(folder)
            return self.setdefault(name, folder)

    return Folders()


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with pretended(monkeypatch) as name:
        yield name


def test_the_pretence_tells_devices_apart(device: str) -> None:
    there, here = torch.ones(3, device=device), torch.ones(3)
    assert (there + 1).sum().item() == 6
    assert there.device.type == (there.cpu().to(device) * 2).device.type == device
    assert there.tolist() == there.cpu().tolist() == here.tolist()
    assert there[torch.tensor([0, 2])].shape == (2,)
    there[1:] = here[1:]
    for mixed in (lambda: there + here, lambda: here[there.long()], lambda: torch.cat([here, there])):
        with pytest.raises(RuntimeError, match="same device"):
            mixed()
    with pytest.raises((TypeError, RuntimeError)):
        there.numpy()


@pytest.mark.parametrize("name", MINIATURES)
def test_predictions_are_those_of_the_cpu(folders: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folders[name]
    expected = predictions(load_canvas_model(str(folder), "cpu", EXACT))
    with pretended(monkeypatch) as device:
        family = load_canvas_model(str(folder), device, EXACT)
        found = predictions(family)
        assert torch.device(family.device).type == device
    for here, there in zip(expected, found, strict=True):
        torch.testing.assert_close(there, here, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", MINIATURES)
def test_half_precision_is_enough_for_every_family(folders: dict[str, Path], name: str) -> None:
    """What Apple's Metal computes in, and what no mask and no given token may overflow."""
    family = load_canvas_model(str(folders[name]), "cpu", replace(EXACT, dtype="fp16"))
    assert all(torch.isfinite(logits).all() for logits in predictions(family))


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_whole_engine_answers_in_half_precision(folders: dict[str, Path], name: str) -> None:
    half = replace(EXACT, dtype="fp16")
    engine = load_engine(str(folders[name]), device="cpu", settings=half)
    assert not answer_in_few_passes(engine, InfillRequest(*TEXT, candidates=2)).user_message


@pytest.mark.parametrize(("wanted", "expected"), [("cpu:0", "cpu"), ("cpu:x", None), ("cuda:99", None), ("tpu", None)])
def test_devices_are_named_as_torch_names_them(wanted: str, expected: str | None) -> None:
    with nullcontext() if expected else pytest.raises(InputError, match="not available here"):
        assert choose_device(wanted) == expected


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_whole_engine_answers_as_on_the_cpu(
    folders: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folders[name]
    expected = answers(folder, "cpu")
    assert any(expected)
    with pretended(monkeypatch) as device:
        assert answers(folder, device) == expected


def test_verifying_a_family_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pretended(monkeypatch) as device:
        found = list(check_family("a2d-qwen2", device))
    assert all(check.ok for check in found), found
    assert found[0].detail.endswith(f"to {device}")


def predictions(family: CanvasModel) -> list[torch.Tensor]:
    """Logits of all slots of two canvases, where some characters are typed between them."""
    canvas = lay_out([[family.info.mask_id] * 3, [70, family.info.mask_id, 71], [family.info.mask_id]], 0)
    return [
        family.denoise(finished(family.encode(*text)), canvas, np.arange(canvas.slots)).float().cpu()
        for text in (TEXT, LATER)
    ]


def answers(folder: Path, device: str) -> list[list[tuple[str, str]]]:
    """Texts and where they come from, for a line with a draft and one without.

    Plain text, because unlikely texts with syntax errors are not offered, and a random network writes no others.
    """
    family = load_canvas_model(str(folder), device, EXACT)
    engine = engine_of(family, str(folder))  # without the requests of its warm-up
    requests = (
        InfillRequest(*TEXT, drafts=(Draft("i + 1", 5),), candidates=2, language="plaintext"),
        InfillRequest(*LATER, candidates=2, language="plaintext"),
    )
    return [
        [(each.text, each.source) for each in answer_in_few_passes(engine, request).candidates] for request in requests
    ]

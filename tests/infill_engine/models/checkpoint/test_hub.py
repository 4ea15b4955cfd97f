"""Published models by name, fetched over real HTTP from a hub on this machine. Every request is counted."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hub_programs
import pytest
import torch
from hub_programs import Program, in_process
from hub_server import COMMIT, Hub, serving
from safetensors.torch import save_file

from bench.families import masked
from infill_engine.models.checkpoint.hub import is_hub_name

NAME, CODER = "some/dream", "some/coder"

Fetch = Callable[..., dict[str, object]]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = masked.publish("dream", masked.stock_network("qwen2"), tmp_path_factory.mktemp("published") / "dream")
    for other in ("modeling_dream.py", "pytorch_model.bin", "README.md", "onnx/model.safetensors"):
        (folder / other).parent.mkdir(exist_ok=True)
        (folder / other).write_text("never to be fetched")
    coder = shutil.copytree(folder, folder.with_name("coder"))
    config = json.loads((coder / "config.json").read_text())
    (coder / "config.json").write_text(json.dumps(config | {"model_type": "qwen2", "auto_map": None}))
    pickled = tmp_path_factory.mktemp("pickled")
    (pickled / "config.json").write_text("{}")
    (pickled / "pytorch_model.bin").write_text("never to be fetched")
    large = tmp_path_factory.mktemp("large")
    (large / "config.json").write_text("{}")
    save_file({"weight": torch.zeros(6_000_000)}, large / "model.safetensors")
    refusals = {"some/gated": (403, "GatedRepo"), "some/secret": (401, ""), "some/broken": (503, "")}
    with serving(Hub({NAME: folder, CODER: coder, "some/pickled": pickled, "some/large": large}, refusals)) as served:
        yield served


@pytest.fixture
def fetch(hub: Hub, tmp_path: Path) -> Fetch:
    """`hub.fetch`, or another program, in a process of its own."""
    hub.requests.clear()

    def fetched(name: str, program: Program = hub_programs.fetch, **environment: str) -> dict[str, object]:
        return in_process(program, name, os.environ | hub.environment(tmp_path / "home") | environment)

    return fetched


def test_only_what_is_read_is_fetched_and_only_once(fetch: Fetch, hub: Hub) -> None:
    first = fetch(NAME)
    assert first["files"] == ["config.json", "model.safetensors", "tokenizer.json"]
    assert not any("never" in request or ".py" in request or ".bin" in request for request in hub.requests)
    said = first["said"]
    assert isinstance(said, list)
    assert said[-1][0].startswith(f"fetching {NAME}, ")
    assert said[-1][1] == 1.0
    asked = len(hub.requests)
    assert fetch(NAME)["folder"] == first["folder"]
    assert fetch(NAME, HF_HUB_OFFLINE="1")["folder"] == first["folder"]
    assert fetch(f"{NAME}@{COMMIT}")["folder"] == first["folder"]
    assert len(hub.requests) == asked


def test_a_transfer_that_broke_off_goes_on_where_it_was(fetch: Fetch, hub: Hub) -> None:
    hub.cut_after = 12_000_000
    assert fetch("some/large")["files"] == ["config.json", "model.safetensors"]
    (resumed,) = [request for request in hub.requests if request.startswith("RANGE")]
    assert int(resumed.split()[-1]) >= 10_000_000


def cache_elsewhere(hub: Hub, tmp_path: Path, name: str, files: list[str]) -> Path:
    """The snapshot another program left behind, which noted nothing of what it did not fetch."""
    home = tmp_path / "home" / "hub" / f"models--{name.replace('/', '--')}"
    snapshot = home / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(COMMIT)
    for file in files:
        (snapshot / file).write_bytes((hub.models[NAME] / file).read_bytes())
    return snapshot


def test_a_cache_from_elsewhere_is_used_without_a_request(fetch: Fetch, hub: Hub, tmp_path: Path) -> None:
    snapshot = cache_elsewhere(hub, tmp_path, "other/dream", ["config.json", "model.safetensors", "tokenizer.json"])
    assert fetch("other/dream")["folder"] == str(snapshot)
    assert not hub.requests
    (snapshot / "model.safetensors").unlink()
    assert "incomplete on this machine" in str(fetch("other/dream", HF_HUB_OFFLINE="1")["error"])


def test_a_cache_without_a_tokenizer_is_completed(fetch: Fetch, hub: Hub, tmp_path: Path) -> None:
    snapshot = cache_elsewhere(hub, tmp_path, NAME, ["config.json", "model.safetensors"])
    found = fetch(NAME)
    assert (found["folder"], found["files"]) == (str(snapshot), ["config.json", "model.safetensors", "tokenizer.json"])


def test_a_model_is_looked_at_without_fetching_it(fetch: Fetch, hub: Hub) -> None:
    found = fetch(NAME, hub_programs.peek)
    assert found["config"] == json.loads((hub.models[NAME] / "config.json").read_text())
    shapes = found["shapes"]
    assert isinstance(shapes, dict)
    assert shapes["model.norm.weight"] == [found["config"]["hidden_size"]]  # type: ignore[index]
    assert any(request.startswith("RANGE model.safetensors") for request in hub.requests)
    assert "has no model type" in str(fetch("some/large", hub_programs.peek)["error"])
    assert "without safetensors" in str(fetch("some/pickled", hub_programs.peek)["error"])
    assert "cannot be reached" in str(fetch(NAME, hub_programs.peek, HF_ENDPOINT="http://127.0.0.1:9")["error"])


def test_a_model_that_needs_torch_is_not_fetched_without_it(fetch: Fetch, hub: Hub) -> None:
    assert "infill-ls[models]" in str(fetch(NAME, hub_programs.load_without_torch)["error"])
    assert not any("tokenizer" in request for request in hub.requests)  # which comes with the weights


def test_a_model_is_described_without_torch_if_it_is_computed_without(fetch: Fetch) -> None:
    found = fetch(CODER, hub_programs.describe_without_torch)
    assert "error" not in found, found
    assert found["config"]["model_type"] == "qwen2"  # type: ignore[index]
    assert found["memory"]["bf16"] > found["memory"]["int8"] > 0  # type: ignore[index]
    assert "infill-ls[models]" in str(fetch(NAME, hub_programs.describe_without_torch)["error"])


@pytest.mark.parametrize(
    ("name", "environment", "said"),
    [
        ("some/nothing", {}, "no model some/nothing.*Check the spelling"),
        ("some/gated", {}, "accept its terms.*hf auth login"),
        ("some/secret", {}, "401.*hf auth login"),
        ("some/broken", {}, "cannot be reached.*try again"),
        ("some/pickled", {}, "without safetensors.*use another version"),
        (NAME, {"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE.*unset"),
        (NAME, {"HF_ENDPOINT": "http://127.0.0.1:9"}, "cannot be reached.*check the connection"),
    ],
)
def test_what_went_wrong_is_said_with_a_remedy(fetch: Fetch, name: str, environment: dict[str, str], said: str) -> None:
    error = str(fetch(name, **environment)["error"])
    assert re.search(said, error), error
    assert "http" not in error


def test_what_is_written_like_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lies in the folder of the process that asks, which for the worker is wherever the editor was started."""
    monkeypatch.chdir(tmp_path)
    assert is_hub_name("Dream-org/Dream-v0-Base-7B")
    assert is_hub_name("a/b@refs/pr/1")
    for path in ("default", "./models/dream", "/models/dream", "~/dream", "../a/b", "models/dream/7b", "a\\b", "a/ b"):
        assert not is_hub_name(path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert is_hub_name("a/b")


def test_the_library_is_told_to_send_no_telemetry(tmp_path: Path) -> None:
    """By whichever function imports it first: it reads the variable once."""
    code = """
import sys
from infill_engine.models.checkpoint import hub
hub.cached("some/dream")
from huggingface_hub import constants
print(constants.HF_HUB_DISABLE_TELEMETRY)
"""
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_DISABLE_TELEMETRY"}
    environment["HF_HOME"] = str(tmp_path)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"

"""`infill-ls models`: run as a person would, in this process."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from bench.families import masked
from bench.families.checks import MINIATURES
from infill_engine.models.canvas_loading import FAMILIES
from infill_engine.models.checkpoint.user_data import STATE_DIR
from infill_engine.models.published.catalogue import CATALOGUE
from infill_engine.models.trunk.published_sizes import SIZES
from lsp_server.__main__ import main
from lsp_server.cli.models import here

Said = pytest.CaptureFixture[str]


def as_json(said: Said, *arguments: str, status: int = 0) -> Any:
    assert main(["models", *arguments, "--json"]) == status
    return json.loads(said.readouterr().out)


@pytest.fixture(autouse=True)
def pass_of_the_default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded to estimate what larger models cost."""
    monkeypatch.setattr(here, "default_pass", lambda: (SIZES["Qwen2.5-Coder-0.5B"], 20.0))


@pytest.fixture
def dream(tmp_path: Path) -> Path:
    return masked.publish("dream", masked.stock_network("qwen2"), tmp_path / "dream")


def test_the_list_has_every_family_that_can_be_loaded(capsys: Said) -> None:
    found = as_json(capsys, "list")
    listed = {model_type for family in found["families"] for model_type in family["model_types"]}
    assert set(FAMILIES) <= listed
    names = {family["name"] for family in found["families"]}
    assert {"a2d" if name.startswith("a2d-") else name for name in MINIATURES} <= names | {"default"}
    assert "not measured here" in found["score"]
    for family in found["families"]:
        for example in family["examples"]:
            assert example["licence"]
            sizes = example["gigabytes"]
            assert sizes["int4"] <= sizes["int8"] <= sizes["bf16"]
            assert (example["score"] is None) == (not example["source"])


def test_seven_billion_weights_fit_six_gigabytes_at_int4() -> None:
    published = next(known for known in CATALOGUE if known.name == "dream").examples[0]
    assert published.gigabytes("bf16") > 15
    assert published.gigabytes("int4") < 6


def test_the_list_for_people(capsys: Said) -> None:
    assert main(["models", "list"]) == 0
    said = capsys.readouterr().out
    assert "qwen2.5-coder  left to right" in said
    assert "as published; not measured here" in said


def test_the_list_says_what_this_machine_can_hold(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=3e9))
    found = as_json(capsys, "list")
    assert [each["fits"] for each in found["larger"]] == [True, True, False, False]
    passes = [each["passes"] for each in found["larger"]]
    assert passes[0] == 7.5
    assert passes == sorted(passes, reverse=True)
    assert main(["models", "list"]) == 0
    assert "Qwen2.5-Coder-7B: 8.3 GB, too large; 0.8 passes of 8 tokens in 150 ms" in capsys.readouterr().out


def test_a_prepared_model_is_listed_and_forgotten(
    capsys: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(STATE_DIR, str(tmp_path))
    graph, other = (tmp_path / "prepared" / f"{name}-0123-4567.graph" for name in ("coder-1.5b-12ab34", "trunk"))
    for folder in (graph, other):
        folder.mkdir(parents=True)
        (folder / "graph.bin").write_bytes(b"x" * 18)
        (folder / "checksums.json").write_text("{}")
    assert [kept["model"] for kept in as_json(capsys, "list")["prepared"]] == ["coder-1.5b-12ab34", "trunk"]
    assert as_json(capsys, "forget", "coder-1.5b-12ab34")["bytes"] == 20
    assert not graph.exists()
    assert main(["models", "forget", "coder-1.5b-12ab34"]) == 2
    assert "prepared models: trunk" in capsys.readouterr().err


def test_info_says_what_was_checked_and_what_it_takes(dream: Path, capsys: Said) -> None:
    found = as_json(capsys, "info", str(dream), "--device", "cpu")
    assert (found["family"], found["user_message"], found["fits"]) == ("dream", "", True)
    assert found["config"]["model_type"] == "Dream"
    assert len(found["checked"]) == 4
    assert list(found["memory"]) == ["fp32", "bf16", "int8", "int4"]
    assert main(["models", "info", str(dream)]) == 0
    assert "both sides natively" in capsys.readouterr().out


def test_info_of_the_default_model(capsys: Said) -> None:
    found = as_json(capsys, "info", "default", "--device", "cpu")
    assert (found["family"], found["user_message"], found["fits"]) == ("trunk", "", True)
    assert 0.42e9 < found["parameters"] < 0.45e9
    assert list(found["memory"]) == ["bf16", "int8"]


def test_info_of_a_damaged_model_says_what_is_wrong(dream: Path, capsys: Said) -> None:
    (dream / "config.json").write_text(json.dumps(masked.PUBLISHED["dream"].config | {"hidden_act": "relu"}))
    assert "'relu'; this version knows only" in as_json(capsys, "info", str(dream), status=1)["user_message"]
    (dream / "config.json").write_text('{"model_type": "mamba"}')
    assert "knows only" in as_json(capsys, "info", str(dream), status=1)["user_message"]


def test_a_config_does_not_steer_the_terminal(dream: Path, capsys: Said) -> None:
    config = masked.PUBLISHED["dream"].config
    (dream / "config.json").write_text(
        json.dumps(config | {"model_type": "\u001b]0;x\u0007", "\u001b[2J": "\u009b31m"})
    )
    assert main(["models", "info", str(dream)]) == 1
    assert main(["complete", "x.py:1:1", "--model", str(dream)]) == 2
    said = capsys.readouterr()
    assert "\\x1b[2J" in said.out
    assert "\\x1b]0;x" in said.out
    assert not {"\u001b", "\u0007", "\u009b"} & {*said.out, *said.err}


def test_a_model_that_is_not_there(tmp_path: Path, capsys: Said) -> None:
    assert main(["models", "info", str(tmp_path / "nothing")]) == 2
    assert "no model at" in capsys.readouterr().err


def test_a_server_is_no_model_of_this_machine(capsys: Said) -> None:
    assert main(["models", "info", "llama:http://localhost:1"]) == 2
    said = capsys.readouterr().err
    assert "llama:http://localhost:1 is a server" in said
    assert "infill-ls doctor --model llama:http://localhost:1" in said

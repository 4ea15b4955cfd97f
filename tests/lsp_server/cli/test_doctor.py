"""`infill-ls doctor`: a real engine is started, asked and ended."""

import json
import sys
from pathlib import Path

import pytest
from command_line import infill_ls, run_here
from msgspec.structs import replace

from infill_engine.models.registry import TRUNK, folder_of
from infill_engine.serving.protocol import State, Status
from infill_engine.text.languages import language
from infill_engine.text.languages.record import Grammar
from lsp_server.__main__ import main
from lsp_server.cli import doctor
from lsp_server.cli import speed as speed_module
from lsp_server.cli.doctor import CheckStatus, Trial
from lsp_server.cli.speed import Speed, measure_speed
from lsp_server.settings.schema import EngineChoice

FOLDER = folder_of(TRUNK)
NAMES = ["python", "grammars", "engine", "completion"]
BUDGET = ("--budget-ms", "5000")


def verdicts(output: str) -> dict[str, str]:
    return {check["name"]: check["status"] for check in json.loads(output)["checks"]}


def test_all_is_well(tmp_path: Path) -> None:
    done = infill_ls("doctor", "--json", *BUDGET, folder=tmp_path)
    assert done.returncode == 0, done.stdout
    report = json.loads(done.stdout)
    assert list(report) == ["checks", "ok"]
    assert report["ok"] is True
    assert verdicts(done.stdout) == dict.fromkeys(NAMES, "ok")
    for check in report["checks"]:
        assert list(check) == ["name", "status", "detail", "remedy"]
        assert check["detail"]
        assert not check["remedy"]


def test_lines_for_people(tmp_path: Path) -> None:
    done = run_here("doctor", *BUDGET, folder=tmp_path)
    assert done.returncode == 0
    *checks, last = done.stdout.splitlines()
    assert [line.split()[:2] for line in checks] == [["ok", name] for name in NAMES]
    assert last == "All checks passed."


def test_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--device", "abacus"], ["--model", str(tmp_path)]):
        assert main(["doctor", "--json", *BUDGET, *arguments]) == 1
        said = json.loads(capsys.readouterr().out)
        assert said["ok"] is False
        *_, check = said["checks"]
        assert (check["name"], check["status"]) == ("engine", "fail")
        assert arguments[1] in check["detail"]
        assert check["remedy"]


def test_an_engine_that_cannot_load_its_model(tmp_path: Path) -> None:
    done = run_here("doctor", "--json", *BUDGET, folder=tmp_path, script={"no": "script"})
    assert done.returncode == 1
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["engine"]["status"] == "fail"
    assert "is not a script" in checks["engine"]["detail"]
    assert checks["engine"]["remedy"]
    assert "completion" not in checks


@pytest.mark.parametrize(
    ("script", "detail"),
    [
        ({"rules": [{"before": "area(width, ", "candidates": []}]}, "(blank)"),
        # What stands elsewhere in the text is found even when the model has no time.
        ({"rules": [{"before": "", "candidates": ["height"]}], "step_ms": 500}, "(copied ones only)"),
    ],
)
def test_a_model_that_says_nothing_is_a_warning(tmp_path: Path, script: dict[str, object], detail: str) -> None:
    done = run_here("doctor", "--json", "--budget-ms", "400", folder=tmp_path, script=script)
    assert done.returncode == 0
    *_, completion = json.loads(done.stdout)["checks"]
    assert (completion["name"], completion["status"]) == ("completion", "warn")
    assert detail in completion["detail"]
    assert completion["remedy"]


def test_a_warning_is_not_called_well(tmp_path: Path) -> None:
    script: dict[str, object] = {"rules": [{"before": "area(width, ", "candidates": []}]}
    done = run_here("doctor", "--budget-ms", "400", folder=tmp_path, script=script)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "It works, with warnings; see above."


def test_what_each_language_has() -> None:
    check = doctor.check_grammars()
    assert check.status is CheckStatus.OK
    full, second, text = check.detail.split(" · ")
    assert "Python" in full
    assert "TOML" in second
    assert text.endswith("and anything else")


def test_the_language_of_a_file(tmp_path: Path) -> None:
    header = tmp_path / "shop.h"
    header.write_text("namespace shop {\nclass Cart {};\n}\n")
    check = doctor.check_file(header)
    assert (check.status, check.detail) == (CheckStatus.OK, "shop.h: C++, because its content says so; full support")
    header.write_text("int total(int count);\n")
    assert doctor.check_file(header).detail == "shop.h: C, because its name says so; full support"
    unknown = tmp_path / "notes"
    unknown.write_bytes(b"\xff\x00 anything")
    assert doctor.check_file(unknown).detail.endswith("nothing names a language; completed as plain text")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    check = doctor.check_file(tmp_path)
    assert check.status is CheckStatus.WARN
    assert check.remedy


def test_a_grammar_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = language("python")
    missing = Grammar(module="tree_sitter_klingon", queries="")
    broken = replace(entry, id="klingon", name="Klingon", grammar=missing)
    monkeypatch.setattr(doctor, "all_entries", lambda: (entry, broken))
    check = doctor.check_grammars()
    assert check.status is CheckStatus.WARN
    assert check.detail.startswith("Klingon: tree-sitter-klingon is not installed")
    assert check.remedy.startswith("Files in these languages are completed as plain text.")


def test_retrieved_texts_in_place_of_the_default() -> None:
    check = doctor.check_engine(Trial(ready_seconds=2.0, status=Status(State.READY, model="retrieval")))
    assert check.status is CheckStatus.WARN
    assert check.remedy == "Run `infill-ls models get` to build the default model."


def test_how_the_model_computes_is_told() -> None:
    status = Status(State.READY, "int8; too slow here for 150 ms", model="default", device="cpu")
    check = doctor.check_engine(Trial(ready_seconds=2.0, status=status))
    assert check.detail == "default on cpu, ready 2.0 s after it was started; int8; too slow here for 150 ms"


def test_the_budgets_of_the_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path))
    (tmp_path / "settings.json").write_text('{"budgetMs": 300}', encoding="utf-8")
    assert "300 ms while typing, 600 ms for explicit requests" in doctor.check_settings().detail


@pytest.mark.parametrize(("typing", "verdict"), [(1.0, CheckStatus.OK), (0.0, CheckStatus.WARN)])
def test_the_speed_in_words(typing: float, verdict: CheckStatus) -> None:
    check = doctor.check_speed(Speed(31.4, (150, 600), (typing, 12.0)))
    assert check.status is verdict
    assert bool(check.remedy) is (verdict is CheckStatus.WARN)
    assert check.detail.startswith("One pass over 8 rows takes 31 ms. In 5 rehearsed answers, the model usually made ")
    assert f"{typing:g} pass" in check.detail
    assert "in the 150 ms while typing, and 12 passes in the 600 ms of an explicit request." in check.detail


@pytest.mark.skipif(
    FOLDER is None or not (FOLDER / "model.safetensors.index.json").is_file(),
    reason="THE WEIGHTS OF THE DEFAULT MODEL ARE MISSING, so its speed was not measured",
)
def test_the_speed_of_the_default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed_module, "ANSWERS", 1)
    speed = measure_speed(EngineChoice(), (3000, 6000))
    assert speed.pass_ms > 0
    assert 1 <= speed.passes[0] <= speed.passes[1] + 1


@pytest.mark.parametrize(("device", "warned"), [("auto", True), ("cpu", False)])
def test_a_card_that_nothing_uses(device: str, warned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "has_nvidia_card", lambda: True)

    def card() -> list[doctor.Check]:
        return list(doctor.check_card(EngineChoice(device=device)))

    assert not card()
    monkeypatch.setitem(sys.modules, "torch", None)
    assert [(check.name, check.status) for check in card()] == [("gpu", CheckStatus.WARN)] * warned
    assert all("infill-ls[torch]" in check.remedy for check in card())

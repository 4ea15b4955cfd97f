"""`infill-ls doctor`: a real worker is started, asked and ended."""

import json
from pathlib import Path

import pytest
from command_line import infill_ls, run_here
from msgspec.structs import replace

from infill_engine.text.languages import language
from infill_engine.text.languages.record import Grammar
from lsp_server.cli.doctor import command as doctor
from lsp_server.cli.doctor.command import Verdict
from lsp_server.cli.doctor.worker_trial import Trial

NAMES = ["python", "torch", "grammars", "device", "model", "worker", "completion"]
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
    assert last == "All is well."


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    done = run_here("doctor", "--json", *BUDGET, "--device", "abacus", folder=tmp_path)
    assert done.returncode == 1
    assert json.loads(done.stdout)["ok"] is False
    assert verdicts(done.stdout)["device"] == "fail"
    assert all(check["remedy"] for check in json.loads(done.stdout)["checks"] if check["status"] != "ok")


def test_a_worker_that_cannot_load_its_model(tmp_path: Path) -> None:
    done = run_here("doctor", "--json", *BUDGET, folder=tmp_path, script={"no": "script"})
    assert done.returncode == 1
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["worker"]["status"] == "fail"
    assert "is not a script" in checks["worker"]["detail"]
    assert checks["worker"]["remedy"]
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


def test_model_files(tmp_path: Path) -> None:
    assert doctor.check_model(str(tmp_path)).status is Verdict.FAIL
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes(b"12345")
    check = doctor.check_model(str(tmp_path))
    assert check.status is Verdict.OK
    assert str(tmp_path) in check.detail
    (tmp_path / "tokenizer.json").unlink()
    check = doctor.check_model(str(tmp_path))
    assert check.status is Verdict.FAIL
    assert "tokenizer.json" in check.detail
    assert check.remedy
    for name in ("vocab.json", "merges.txt", "tokenizer_config.json"):  # as Dream is published
        (tmp_path / name).write_bytes(b"12345")
    assert doctor.check_model(str(tmp_path)).status is Verdict.OK


def test_an_old_python() -> None:
    assert doctor.check_python((3, 11)).status is Verdict.OK
    assert doctor.check_python((3, 10)).status is Verdict.FAIL


def test_what_each_language_has() -> None:
    check = doctor.check_grammars()
    assert check.status is Verdict.OK
    full, second, text = check.detail.split(" · ")
    assert "Python" in full
    assert "TOML" in second
    assert text.endswith("and anything else")


def test_the_language_of_a_file(tmp_path: Path) -> None:
    header = tmp_path / "shop.h"
    header.write_text("namespace shop {\nclass Cart {};\n}\n")
    check = doctor.check_file(header)
    assert (check.status, check.detail) == (Verdict.OK, "shop.h: C++, because its content says so; full support")
    header.write_text("int total(int count);\n")
    assert doctor.check_file(header).detail == "shop.h: C, because its name says so; full support"
    unknown = tmp_path / "notes"
    unknown.write_bytes(b"\xff\x00 anything")
    assert doctor.check_file(unknown).detail.endswith("nothing names a language; completed as plain text")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    check = doctor.check_file(tmp_path)
    assert check.status is Verdict.WARN
    assert check.remedy


def test_a_grammar_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = language("python")
    missing = Grammar(module="tree_sitter_klingon", queries="")
    broken = replace(entry, id="klingon", name="Klingon", grammar=missing)
    monkeypatch.setattr(doctor, "all_entries", lambda: (entry, broken))
    check = doctor.check_grammars()
    assert check.status is Verdict.WARN
    assert check.detail.startswith("Klingon: tree-sitter-klingon is not installed")
    assert check.remedy.startswith("Files in these languages are completed as plain text.")


def test_a_worker_in_trouble() -> None:
    check = doctor.check_worker(Trial("The infill engine stopped."))
    assert (check.status, check.detail) == (Verdict.FAIL, "The infill engine stopped.")


def test_retrieved_texts_in_place_of_the_default() -> None:
    check = doctor.check_worker(Trial(ready_seconds=2.0, model="retrieval"))
    assert check.status is Verdict.WARN
    assert check.remedy == "Run `infill-ls models get` to build the default model."

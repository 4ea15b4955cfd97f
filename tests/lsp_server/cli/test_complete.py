"""`infill-ls complete`: once as a person runs it, then in this process."""

import json
from pathlib import Path

import pytest
from command_line import infill_ls, run_here

TEXT = "import os\nx = \nprint(x)\n"
FIELDS = ["candidates", "reason", "elapsed_ms", "budget_ms", "model", "device", "read_ms", "compute_ms"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / ".env").write_text("KEY=\n", encoding="utf-8")
    (tmp_path / "program.py").write_bytes(b"\x7fELF\0")
    return tmp_path


def test_json_is_one_object_of_fixed_form(folder: Path) -> None:
    done = infill_ls("complete", "app.py:2:5", "--budget-ms", "5000", "--json", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert list(answer) == FIELDS
    assert [item["text"] for item in answer["candidates"]] == ["alpha(1)", "beta(2)", "gamma(3)"]
    for item in answer["candidates"]:
        assert list(item) == ["text", "confidence", "partial", "passes", "source"]
        assert 0 <= item["confidence"] <= 1
        assert (item["partial"], item["source"]) == (False, "model")
        assert item["passes"] >= 1
    assert (answer["reason"], answer["budget_ms"], answer["device"]) == (None, 5000, "cpu")
    assert answer["model"] == f"scripted:{folder / 'script.json'}"
    assert answer["elapsed_ms"] >= answer["compute_ms"] > 0


@pytest.mark.parametrize(("place", "reason"), [(".env:1:5", "excluded"), ("program.py:1:1", "unsupported")])
def test_silence_has_its_reason_and_needs_no_model(folder: Path, place: str, reason: str) -> None:
    done = run_here("complete", place, "--json", folder=folder, script={"no": "script"})
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert list(answer) == FIELDS
    assert (answer["candidates"], answer["reason"], answer["device"]) == ([], reason, None)


def test_it_is_an_explicit_request(folder: Path) -> None:
    done = run_here("complete", "app.py:2:5", "--json", folder=folder)
    assert json.loads(done.stdout)["budget_ms"] == 600


def test_it_sees_the_files_that_a_server_sees(folder: Path) -> None:
    (folder / "package.json").write_text("{}")
    (folder / "onlytool.js").write_text("")
    (folder / "main.js").write_text("import { tool } from './';\n")
    done = run_here("complete", "main.js:1:25", "--budget-ms", "5000", "--json", folder=folder)
    assert "onlytool" in [item["text"] for item in json.loads(done.stdout)["candidates"]]


def test_fewer_candidates(folder: Path) -> None:
    done = run_here("complete", "app.py:2:5", "--candidates", "2", "--budget-ms", "5000", "--json", folder=folder)
    assert [item["text"] for item in json.loads(done.stdout)["candidates"]] == ["alpha(1)", "beta(2)"]


def test_deadline_is_kept_by_not_starting_a_step(folder: Path) -> None:
    script = {"rules": [{"before": "", "candidates": ["x"]}], "step_ms": 200}
    done = run_here("complete", "app.py:2:5", "--budget-ms", "100", "--json", folder=folder, script=script)
    answer = json.loads(done.stdout)
    assert (answer["candidates"], answer["reason"]) == ([], "deadline")
    assert answer["compute_ms"] < 200


def test_lines_for_people(folder: Path) -> None:
    done = run_here("complete", "app.py:2:5", "--budget-ms", "5000", folder=folder)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    for line, text in zip(lines, ("alpha(1)", "beta(2)", "gamma(3)"), strict=False):
        assert f"x = «{text}»" in line
        assert "pass" in line
        assert "model" in line
    assert "ms of 5000 ms" in lines[3]


def test_several_lines_stand_under_each_other(folder: Path) -> None:
    (folder / "block.py").write_text("def f():\n    \n", encoding="utf-8")
    done = run_here("complete", "block.py:2:5", "--budget-ms", "5000", folder=folder)
    first, second, *_ = done.stdout.splitlines()
    marked = len("«")
    assert first.index("for item") - marked == second.index("print(item)") - len("    ")


def test_the_line_of_a_terminal_cannot_be_taken_over(folder: Path) -> None:
    (folder / "escape.py").write_text("# \x1b[2J\u202e\tx = \n", encoding="utf-8")
    done = run_here("complete", "escape.py:1:13", "--budget-ms", "5000", folder=folder)
    assert "# \\x1b[2J\\u202e    x = «alpha(1)»" in done.stdout


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (".env:1:5", "are not read"),
        ("program.py:1:1", "not text"),
    ],
)
def test_silence_for_people_is_a_sentence(folder: Path, place: str, told: str) -> None:
    done = run_here("complete", place, folder=folder)
    assert done.returncode == 0
    assert done.stdout.startswith(f"{place}: ")
    assert told in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("missing.py:1:1",), "missing.py does not exist"),
        (("app.py",), "FILE:LINE:COL"),
        (("app.py:5:1",), "line from 1 to 4"),
        (("app.py:2:6",), "column from 1 to 5"),
        (("app.py:2:5", "--candidates", "0"), "whole number from 1 to 16"),
        (("app.py:2:5", "--budget-ms", "soon"), "whole number from 10 to 60000"),
        (("app.py:2:5", "--model", " "), "leave the option out"),
        (("app.py:2:5", "--colour"), "unrecognized arguments"),
        ((), "FILE:LINE:COL"),
    ],
)
def test_what_cannot_be_asked(folder: Path, arguments: tuple[str, ...], told: str) -> None:
    done = run_here("complete", *arguments, "--json", folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_that_is_none(folder: Path) -> None:
    done = run_here("complete", "app.py:2:5", "--json", folder=folder, script={"no": "script"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "script.json is not a script" in done.stderr

"""`infill-ls why`: what became of every proposed text, for programs and for people."""

import json
from pathlib import Path

import pytest
from command_line import infill_ls, run_here

from infill_engine.ranking.cleanup import RULES
from infill_engine.ranking.rank import STEPS
from infill_engine.types import Answer, Candidate
from lsp_server.cli.asking import Asked
from lsp_server.cli.why import MEANINGS, fates_in

CANDIDATES = ["alpha(1)", "alpha( 1 )", "beta(2", "None, None, None, None, None, None, None"]
SCRIPT: dict[str, object] = {"rules": [{"before": "x = ", "candidates": CANDIDATES}, {"before": "", "candidates": []}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text("import os\nx = \nprint(x)\n", encoding="utf-8")
    (tmp_path / ".env").write_text("KEY=\n", encoding="utf-8")
    return tmp_path


def test_every_text_has_its_fate(folder: Path) -> None:
    done = infill_ls("why", "app.py:2:5", "--budget-ms", "5000", "--json", folder=folder, script=SCRIPT)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    fates = {one["text"]: one["fate"] for one in answer["texts"]}
    assert (fates["alpha(1)"], answer["reason"]) == ("shown", None)
    assert (fates["alpha( 1 )"], fates["beta(2"]) == ("different", "block_end")
    assert fates["None, None, None, None, None, None, None"] == "repetition"
    assert 0 < answer["show_from"] < 1
    assert {one["text"] for one in answer["texts"] if one["confidence"] is None} == set(CANDIDATES[2:])


def test_lines_for_people(folder: Path) -> None:
    done = run_here("why", "app.py:2:5", "--budget-ms", "5000", folder=folder, script=SCRIPT)
    first, *_, last = done.stdout.splitlines()
    assert "appears" in first
    assert first.endswith("«alpha(1)»")
    assert any("leaves a bracket open" in line and line.endswith("«beta(2»") for line in done.stdout.splitlines())
    assert last.startswith("app.py:2:5: texts appear unasked at 10% or more; ")


def test_a_file_that_does_not_exist_is_never_shown_unasked(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("")
    (folder / "app.py").write_text("from .\n")
    script: dict[str, object] = {"rules": [{"before": "from .", "candidates": ["nowhere import x"]}]}
    done = run_here("why", "app.py:1:7", "--budget-ms", "5000", "--json", folder=folder, script=script)
    answer = json.loads(done.stdout)
    assert [(one["text"], one["fate"]) for one in answer["texts"]] == [("nowhere import x", "never_unasked")]
    assert answer["reason"] == "low_confidence"


def test_eagerness_decides_what_appears(folder: Path) -> None:
    def show_from(level: str) -> float:
        place = ("app.py:2:5", "--eagerness", level, "--json")
        return float(json.loads(run_here("why", *place, folder=folder, script=SCRIPT).stdout)["show_from"])

    assert show_from("quiet") > show_from("balanced") > show_from("eager")


def test_without_texts_there_is_a_reason(folder: Path) -> None:
    done = run_here("why", ".env:1:5", folder=folder, script=SCRIPT)
    assert (done.returncode, "are not read" in done.stdout) == (0, True)
    answer = json.loads(run_here("why", ".env:1:5", "--json", folder=folder, script=SCRIPT).stdout)
    assert (answer["texts"], answer["reason"]) == ([], "excluded")


def test_every_step_that_removes_texts_has_a_meaning() -> None:
    assert {step.__name__ for step in STEPS} <= MEANINGS.keys()
    changing = "plain_line_ends leading_blank max_lines indentation balance suffix_overlap trailing_blank".split()
    changing += ["first_indentation", "other_branch", "getters"]
    assert {rule.__name__ for rule in RULES}.difference(changing) <= MEANINGS.keys()


def test_behind_a_single_character_others_are_hidden_too() -> None:
    answer = Answer((Candidate("1", 0.6), Candidate("total", 0.3)), show_from=0.4)
    meanings = [MEANINGS[fate.name] for fate in fates_in(Asked(answer, 150, 0.0, "scripted"))]
    assert meanings == ["is only one character", "is hidden with the best one"]

"""Runs that were stopped go on where they ended, and runs over single languages are joined."""

import json
from pathlib import Path

import pytest

from bench.json_lines import Unfinished
from bench.quality.__main__ import main
from bench.quality.join import main as join
from bench.quality.measuring import Kept, measure
from bench.quality.problems.holes import Task
from bench.quality.reports.outcomes import read_outcomes
from bench.quality.systems.product import Question, Reply
from infill_engine.errors import InputError

TASKS = [Task(f"a:{number}", "a", "line", "x = \n", 0, 4, "one") for number in range(3)]
CODE = {
    "go": "package a\n\nfunc f(a int) int {\n\tif g(a, one) {\n\t\th(a)\n\t\tk(two)\n\t}\n\treturn a\n}\n",
    "lua": "local function f(a)\n  local first = g(a, one)\n  print(first, second)\n  return first\nend\n",
}


def kept(folder: Path, seed: int = 1) -> Kept:
    return Kept(Unfinished(folder / "run.jsonl", {"seed": seed}))


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    asked: list[str] = []

    def fails_at_the_third(question: Question) -> Reply:
        asked.append(question.task.id)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return Reply(texts=("one",), confidences=(0.5,))

    path = tmp_path / "run.partial.jsonl"
    with pytest.raises(KeyboardInterrupt):
        measure(TASKS, {"engine": fails_at_the_third}, 4, 150, kept=kept(tmp_path))
    path.write_text(path.read_text() + '{"system": "engi')  # it was stopped while it wrote
    outcomes = measure(TASKS, {"engine": fails_at_the_third}, 4, 150, kept=kept(tmp_path))
    assert asked == ["a:0", "a:1", "a:2", "a:2"]
    assert [outcome.id for outcome in outcomes] == ["a:0", "a:1", "a:2"]
    assert all(outcome.exact == [True] for outcome in outcomes)


def test_a_system_that_is_added_is_asked_alone(tmp_path: Path) -> None:
    measure(TASKS, {"one": lambda _: Reply()}, 4, 150, kept=kept(tmp_path))

    def never(_question: Question) -> Reply:
        raise AssertionError("asked again")

    outcomes = measure(TASKS, {"one": never, "two": lambda _: Reply()}, 4, 150, kept=kept(tmp_path))
    assert [outcome.system for outcome in outcomes] == ["one", "two"] * 3


def test_a_run_with_other_settings_is_refused(tmp_path: Path) -> None:
    kept(tmp_path, seed=1)
    with pytest.raises(InputError, match="other settings"):
        kept(tmp_path, seed=2)


@pytest.fixture
def by_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[Path]:
    for name, code in CODE.items():
        source = tmp_path / "code" / name / "one" / f"a.{name}"
        source.parent.mkdir(parents=True)
        source.write_text(code)
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"rules": [{"before": "", "candidates": ["one", "two"]}]}))
    results = []
    for number, name in enumerate(CODE):
        results.append(tmp_path / "runs" / f"{name}.jsonl")
        arguments = ["--languages", str(tmp_path / "code"), "--only", name, "--holes", "1", "--seed", "5"]
        systems = ["--systems", "copy", "engine", "--budget-ms", "5000", "--model", f"scripted:{script}"]
        assert main([*arguments, *systems, "--out", str(results[number])]) == 0
        assert {outcome.language for outcome in read_outcomes(results[number])} == {name}
    capsys.readouterr()
    return results


def test_runs_over_single_languages_are_joined(
    by_language: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "joined" / "languages.jsonl"
    assert join([*map(str, by_language), "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "go" in told
    assert "lua" in told
    summary = json.loads((out.parent / "languages-summary.json").read_text())
    assert set(summary["languages"]) == set(CODE)
    assert summary["seed"] == 5
    assert len(read_outcomes(out)) == sum(len(read_outcomes(path)) for path in by_language)
    assert (out.parent / "languages.png").stat().st_size > 1000
    assert not list(by_language[0].parent.glob("*.partial.jsonl"))


def test_what_does_not_belong_together_is_not_joined(
    by_language: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = map(str, by_language)
    assert join([first, first, "--out", str(tmp_path / "o.jsonl")]) == 2
    assert "twice" in capsys.readouterr().err
    summary = by_language[1].with_name("lua-summary.json")
    summary.write_text(summary.read_text().replace('"seed": 5', '"seed": 6'))
    assert join([first, second, "--out", str(tmp_path / "o.jsonl")]) == 2
    assert "another seed" in capsys.readouterr().err
    summary.unlink()
    assert join([first, second, "--out", str(tmp_path / "o.jsonl")]) == 2
    assert "let the run" in capsys.readouterr().err

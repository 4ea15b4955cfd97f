"""What suggestions save whoever types: counted by hand for scripted ones, and the whole bench once."""

import json
from pathlib import Path

import pytest

from bench.quality.holes import Task
from bench.quality.outcomes import ALL
from bench.quality.systems import Question
from bench.quality.typed import Look, main, summarise, typed

GOLD = "alpha(beta)"


def typed_by(shown: dict[str, str], *, gold: str = GOLD, cluster: str = "a"):
    """The hole `x = …` filled with `gold`, where after the text on the left the text on the right is shown."""
    asked: list[str] = []

    def look(question: Question) -> Look:
        left = question.request.prefix.rsplit("x = ")[-1]
        asked.append(left)
        assert question.request.suffix == "\nrest()\n"
        return Look(shown.get(left, ""), ms=5.0)

    task = Task("id", cluster, "statement", "first()\nx = \nrest()\n", 1, 4, gold)
    return typed(task, "engine", look, 4, None), asked


def test_without_suggestions_every_character_is_a_keystroke() -> None:
    found, asked = typed_by({})
    assert (len(found.strokes), found.saved) == (len(GOLD), 0)
    assert asked == [GOLD[:number] for number in range(len(GOLD))]


def test_what_is_right_as_far_as_it_goes_is_taken_for_one_keystroke() -> None:
    found, asked = typed_by({"a": "lpha(", "alpha(": "beta)"})
    assert asked == ["", "a", "alpha("]
    assert [stroke.taken for stroke in found.strokes] == [False, True, True]
    assert found.saved == len(GOLD) - 3


def test_what_is_wrong_is_typed_by_hand_and_shown_once_while_its_beginning_is_typed() -> None:
    found, _ = typed_by({"": "alpha(gamma)", "a": "lpha(gamma)", "al": "pha(gamma)", "alpha(": "gamma)"})
    figures = summarise([found], 150)["engine"]["statement"]
    assert found.saved == 0
    assert (figures["shown"], figures["taken"]) == (2, 0)  # it went away between the third time and the fourth
    assert figures["wrong_per_100_keystrokes"] == pytest.approx(100 * 2 / len(GOLD), abs=0.01)


def test_figures_count_characters_not_holes() -> None:
    long, short = typed_by({"": GOLD})[0], typed_by({}, gold="one", cluster="b")[0]
    figures = summarise([long, short], 4)["engine"][ALL]
    assert figures["saved"] == pytest.approx((len(GOLD) - 1) / (len(GOLD) + 3), abs=1e-4)
    low, high = figures["saved_interval"]
    assert (low, high) == (0.0, pytest.approx((len(GOLD) - 1) / len(GOLD), abs=1e-4))
    assert figures["right_of_shown"] == 1
    assert figures["late"] == 1


def test_the_whole_bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").write_text("def add(first, second):\n    return first + second\n" * 3)
    script, out = tmp_path / "s.json", tmp_path / "results" / "typed.jsonl"
    rules = [{"before": "return ", "candidates": ["first - second"]}, {"before": "+ ", "candidates": ["second"]}]
    script.write_text(json.dumps({"rules": rules}))
    arguments = ["--packages", str(tmp_path), "--holes", "3", "--budget-ms", "5000", "--show-threshold", "0"]
    assert main([*arguments, "--model", f"scripted:{script}", "--out", str(out)]) == 0
    last = json.loads(capsys.readouterr().out.strip().split("\n")[-1])
    figures = last["systems"]["engine"][ALL]
    assert figures["holes"] > 0
    assert 0 < figures["saved"] < 1
    assert figures["fresh"] < 1  # some keystroke was answered with the rest of an earlier answer
    assert {path.name for path in out.parent.iterdir()} == {"typed.jsonl", "typed-summary.json"}


def test_a_folder_without_code_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--packages", str(tmp_path / "nowhere")]) == 2
    assert "no Python files" in capsys.readouterr().err

"""What suggestions save whoever types: counted by hand for scripted ones, and the whole bench once."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.quality.problems.holes import Task
from bench.quality.reports.outcomes import ALL
from bench.quality.systems.product import Question
from bench.quality.typed.__main__ import main
from bench.quality.typed.figures import curve, summarise
from bench.quality.typed.retyping import Look, Looks, look_everywhere, seen, typed, unwritten

GOLD = "alpha(beta)"


def looks(shown: dict[str, tuple[str, float]], *, gold: str = GOLD, cluster: str = "a") -> Looks:
    """What is said of a hole filled with `gold`: after the text on the left, that on the right so surely."""
    at = [Look(*shown.get(gold[:number], ("",)), ms=5.0) for number in range(len(gold))]
    judged = [replace(one, right=bool(one.text) and gold.startswith(one.text, number)) for number, one in enumerate(at)]
    return Looks("id", cluster, "statement", "engine", gold, judged)


def test_every_place_is_asked_with_what_has_been_typed() -> None:
    asked = []

    def look(question: Question) -> Look:
        asked.append((question.request.prefix, question.request.suffix))
        return Look("")

    found = look_everywhere(Task("id", "a", "middle", "first()\nf(, 1)\n", 1, 2, "xy"), "engine", look, 4)
    assert asked == [("first()\nf(", ", 1)\n"), ("first()\nf(x", ", 1)\n")]
    assert len(found.looks) == 2


def test_a_file_that_is_being_written_ends_with_the_line() -> None:
    asked = []

    def look(question: Question) -> Look:
        asked.append((question.request.prefix, question.request.suffix))
        return Look("")

    look_everywhere(unwritten(Task("id", "a", "middle", "a\nf(, 1)\nb\n", 1, 2, "x")), "engine", look, 4)
    assert asked == [("a\nf(", ", 1)\n")]


def test_without_suggestions_every_character_is_a_keystroke() -> None:
    assert typed(looks({}), 0).keystrokes == len(GOLD)


def test_what_is_right_as_far_as_it_goes_is_taken_for_one_keystroke() -> None:
    found = typed(looks({"a": ("lpha(", 0.5), "alpha(": ("beta)", 0.5)}), 0.5)
    assert (found.keystrokes, found.shown, found.taken) == (3, 2, 2)


def test_what_is_not_sure_enough_is_not_shown() -> None:
    found = typed(looks({"a": ("lpha(", 0.4), "alpha(": ("beta)", 0.5)}), 0.5)
    assert (found.keystrokes, found.shown, found.taken) == (7, 1, 1)


def test_a_single_character_is_not_shown_but_as_the_last_of_what_is_being_typed() -> None:
    found = typed(looks({"alpha(bet": ("a", 0.9), "alpha(beta": (")", 0.9)}), 0.5)
    assert (found.keystrokes, found.shown, found.taken) == (len(GOLD), 0, 0)
    assert typed(looks({"alpha(bet": ("a)", 0.9)}), 0.5).taken == 1


def test_what_is_wrong_is_typed_by_hand_and_shown_until_it_differs() -> None:
    wrong = looks({"": ("alpha(gamma)", 0.9), "al": ("pha(beta)", 0.9), "alpha(": ("gamma)", 0.9)})
    found = typed(wrong, 0.5)
    assert (found.keystrokes, found.shown, found.taken) == (len(GOLD), 1, 0)
    assert found.fresh == 1 + len("eta)")  # at first, and once it has gone
    again = typed(looks({"": ("abc", 0.9), "alp": ("xy", 0.9)}), 0.5)
    assert (again.shown, again.taken) == (2, 0)


def test_what_is_as_good_as_the_text_is_taken_for_all_of_it() -> None:
    task = Task("id", "a", "statement", "def f(a, b):\n    \n", 1, 4, "return a + b")
    found = look_everywhere(task, "engine", lambda _question: Look("return b + a"), 4)
    assert [look.right for look in found.looks] == [True, *[False] * (len(task.gold) - 1)]
    assert (typed(found, 0).keystrokes, typed(found, 0).taken) == (1, 1)


def test_who_accepts_nothing_sees_what_is_shown_at_every_key() -> None:
    found = looks({"": ("alpha(gamma)", 0.9), "alpha(": ("beta)", 0.4), "alpha(b": ("x" * 3, 0.9)})
    wrong = seen(found, 0.5)
    assert (wrong.keystrokes, wrong.visible, wrong.right, wrong.wrong_starts) == (len(GOLD), len("alpha(") + 2, 0, 2)
    surer = seen(looks({"": ("alpha(gamma)", 0.3), "alpha(": ("beta)", 0.6)}), 0.5)
    assert (surer.visible, surer.right, surer.wrong_starts) == (len("beta)"), len("beta)"), 0)


def test_figures_count_characters_not_holes() -> None:
    long, short = looks({"": (GOLD, 0.9)}), looks({}, gold="one", cluster="b")
    figures = summarise([long, short], 0.5, 4)["engine"][ALL]
    assert figures["saved"] == pytest.approx((len(GOLD) - 1) / (len(GOLD) + 3), abs=1e-4)
    low, high = figures["saved_interval"]
    assert (low, high) == (0.0, pytest.approx((len(GOLD) - 1) / len(GOLD), abs=1e-4))
    assert (figures["right_of_shown"], figures["wrong_per_100_keystrokes"], figures["late"]) == (1, 0, 1)


def test_the_surer_it_must_be_the_less_is_shown() -> None:
    points = curve([looks({"": (GOLD, 0.5), "a": ("x", 0.2)})])
    assert [point["saved"] > 0 for point in points] == [point["show_from"] <= 0.5 for point in points]


def test_the_whole_bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").write_text("def add(first, second):\n    return first + second\n" * 3)
    script, out = tmp_path / "s.json", tmp_path / "results" / "typed.jsonl"
    rules = [{"before": "return ", "candidates": ["first - second"]}, {"before": "+ ", "candidates": ["second"]}]
    script.write_text(json.dumps({"rules": rules}))
    arguments = ["--packages", str(tmp_path), "--holes", "3", "--budget-ms", "5000"]
    assert main([*arguments, "--model", f"scripted:{script}", "--out", str(out)]) == 0
    last = json.loads(capsys.readouterr().out.strip().split("\n")[-1])
    figures = last["systems"]["engine"][ALL]
    assert figures["holes"] > 0
    assert 0 < figures["saved"] < 1
    assert figures["fresh"] < 1  # at some keystroke the rest of an earlier suggestion stood there
    assert 0 < last["show_from"] < 1
    names = {"typed.jsonl", "typed-summary.json", "typed.png"}
    assert {path.name for path in out.parent.iterdir()} == names


def test_a_folder_without_code_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--packages", str(tmp_path / "nowhere")]) == 2
    assert "no Python files" in capsys.readouterr().err

"""Places to type at, and what is said of a suggestion by the text that follows. The server is that of test_latency."""

import random
from pathlib import Path

import pytest

from bench.replay.keystrokes import Stroke, apply, make_place
from bench.replay.sources import SourceFile
from bench.typing import figures, places, verdict
from infill_engine.errors import InputError

LICENCE = "// A licence.\n" * 6
FILES = {
    "go": LICENCE + "package p\n\nfunc f(xs []int) {\n\t// Not this line.\n\tuse(xs, len(xs))\n}\n",
    "rust": LICENCE + "fn f(xs: &[i32]) -> usize {\n    let n = xs.len();\n    n.min(3)\n}\n",
    "php": LICENCE + "<?php\nfunction f($a, $b) {\n    return g($a, 'é', $b);\n}\n",
}


@pytest.mark.parametrize(("language", "text"), FILES.items())
def test_what_is_typed_is_what_the_file_had(language: str, text: str) -> None:
    seen = set()
    for seed in range(40):
        place = make_place(SourceFile("a", f"a.{language}", text), random.Random(seed))
        assert place is not None
        lines = place.text.split("\n")
        assert lines != text.split("\n")
        for key in place.keystrokes:
            apply(lines, key)
        assert "\n".join(lines) == text
        assert not place.keystrokes[0].text.isspace()
        seen.add((place.keystrokes[0].row, place.keystrokes[0].stroke))
    assert {stroke for _, stroke in seen} == {Stroke.END, Stroke.MIDDLE}
    assert min(row for row, _ in seen) >= 6
    assert not any("Not this" in text.split("\n")[row] for row, _ in seen)


def test_a_file_without_code_has_no_place() -> None:
    assert make_place(SourceFile("a", "a.go", LICENCE + "}\n"), random.Random(0)) is None


def test_each_language_gets_as_many_places(tmp_path: Path) -> None:
    for language, text in FILES.items():
        (tmp_path / language).mkdir()
        (tmp_path / language / f"a.{language}").write_text(text)
    assert [place[0] for place in places(tmp_path, 6, 0)] == ["go", "go", "php", "php", "rust", "rust"]
    with pytest.raises(InputError, match="one for each language"):
        list(places(tmp_path / "none", 6, 0))


@pytest.mark.parametrize(
    ("shown", "follows", "expected"),
    [
        ("", "x)\n", "silent"),
        ("x)", "x)\ny", "right"),
        ("x)\ny", "x)\ny", "right"),
        ("x + 1)", "x)\ny", "begun"),
        ("y)", "x)\ny", "wrong"),
        (" x", "x)\ny", "wrong"),
    ],
)
def test_verdict(shown: str, follows: str, expected: str) -> None:
    assert verdict(shown, follows) == expected


def test_shares_are_of_what_was_shown() -> None:
    rows = [{"place": 0, "verdict": name} for name in ("right", "right", "begun", "wrong", "silent", "silent")]
    expected = {"places": 1, "keys": 6, "shown": 4, "right": 50.0, "begun": 25.0, "wrong": 25.0}
    assert figures(rows) == expected

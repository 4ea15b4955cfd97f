"""Results are read as far as they go, and other files are named."""

import json
from pathlib import Path

import pytest

from bench.runs.reading import read_results
from infill_engine.errors import InputError

HEADER = {"record": "run", "format": 2, "version": "1.0"}


def test_a_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    whole = {"record": "pass", "value": 1}
    (tmp_path / "results.jsonl").write_text(f'{json.dumps(HEADER)}\n{json.dumps(whole)}\n{{"record": "pass", "un')
    assert read_results(tmp_path).records == [whole]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no results of a benchmark run"),
        ("hello", "no results of a benchmark run"),
        (json.dumps({"record": "pass"}), "no results of a benchmark run"),
        (json.dumps({"record": "run", "format": 9, "version": "7.1"}), "format 9 .infill-ls 7.1."),
    ],
)
def test_other_files_are_named(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "x.jsonl").write_text(content)
    with pytest.raises(InputError, match=said) as told:
        read_results(tmp_path / "x.jsonl")
    assert "x.jsonl" in str(told.value)
    with pytest.raises(InputError, match="cannot be read"):
        read_results(tmp_path / "none")

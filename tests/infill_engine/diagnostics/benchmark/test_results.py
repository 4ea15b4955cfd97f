"""What was measured is on disk at once; a folder or disk that cannot be written is named."""

from pathlib import Path

import pytest

from bench.runs.reading import read_results
from infill_engine.diagnostics.benchmark.results import NAME, create
from infill_engine.errors import InputError

HEADER = {"version": "1.0"}


def test_lines_can_be_read_while_the_run_goes_on(tmp_path: Path) -> None:
    results = create(tmp_path / "out", HEADER)
    results.add("pass", value=1)
    results.missing("typing", "there was no time")
    read = read_results(tmp_path / "out")
    assert (read.header, read.records) == (results.header, results.records)
    results.close()


def test_an_earlier_run_is_not_overwritten(tmp_path: Path) -> None:
    create(tmp_path, HEADER).close()
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(InputError, match=r"results.jsonl cannot be written.*--out"):
        create(tmp_path, HEADER)
    assert (tmp_path / NAME).read_bytes() == before


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written.*--out"):
        create(tmp_path / "file" / "out", HEADER)


class Full:
    """A file on a full disk."""

    def write(self, _text: str) -> int:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_named_and_what_was_measured_stays(tmp_path: Path) -> None:
    results = create(tmp_path, HEADER)
    results.add("pass", value=1)
    results.close()
    results._file = Full()  # type: ignore[assignment]
    with pytest.raises(InputError, match=r"No space left.*make room"):
        results.add("pass", value=2)
    assert [line["value"] for line in read_results(tmp_path).of("pass")] == [1]

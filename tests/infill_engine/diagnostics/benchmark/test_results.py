"""Nothing that was measured is lost: a run that stops goes on, a full folder is left, and other files are named."""

import json
from pathlib import Path
from typing import Any

import pytest

from infill_engine.diagnostics.benchmark.results import NAME, Results, create_or_resume, read_results
from infill_engine.errors import InputError

MACHINE = {"processor": "one", "cores": 2, "system": "Linux"}
HEADER: dict[str, Any] = {"version": "1.0", "suite": "quick", "models": ["default"], "seed": 0, "machine": MACHINE}


def values(results: Results) -> list[int]:
    return [line["value"] for line in results.of("pass")]


def measure(results: Results, unit: str, numbers: list[int], *, finish: bool = True) -> None:
    results.begin(unit)
    for number in numbers:
        results.add("pass", value=number)
    if finish:
        results.finish()


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    first = create_or_resume(tmp_path / "out", HEADER)
    measure(first, "a", [1, 2])
    measure(first, "b", [3], finish=False)
    with (tmp_path / "out" / NAME).open("a") as file:
        file.write('{"record": "pass", "un')  # as a lost battery leaves it
    assert values(read_results(tmp_path / "out")) == [1, 2, 3]
    again = create_or_resume(tmp_path / "out", HEADER)
    assert again.finished == {"a"}
    measure(again, "b", [4, 5])
    again.close()
    read = read_results(tmp_path / "out" / NAME)
    assert values(read) == [1, 2, 4, 5]
    assert read.finished == {"a", "b"}
    assert read.damaged == 1


@pytest.mark.parametrize(
    ("key", "value"), [("version", "2.0"), ("seed", 1), ("models", ["trunk"]), ("machine", {**MACHINE, "cores": 4})]
)
def test_another_run_is_not_mixed_in(tmp_path: Path, key: str, value: object) -> None:
    create_or_resume(tmp_path, HEADER).close()
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(InputError, match=f"{key}.*--out"):
        create_or_resume(tmp_path, {**HEADER, key: value})
    assert (tmp_path / NAME).read_bytes() == before


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written.*--out"):
        create_or_resume(tmp_path / "file" / "out", HEADER)


class Full:
    """A file on a full disk."""

    def write(self, _text: str) -> int:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_named_and_what_was_measured_stays(tmp_path: Path) -> None:
    results = create_or_resume(tmp_path, HEADER)
    measure(results, "a", [1, 2])
    results.close()
    results._file = Full()  # type: ignore[assignment]
    with pytest.raises(InputError, match=r"No space left.*make room"):
        results.begin("b")
    assert values(read_results(tmp_path)) == [1, 2]


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

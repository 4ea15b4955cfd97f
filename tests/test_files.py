"""What holds for all files of Python: names that pytest can import; lengths of what is shipped that people can read."""

import subprocess
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
MOST_LINES = 300


def tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", pattern], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return [REPOSITORY / line for line in listed.stdout.splitlines()]


def test_no_two_test_files_have_one_name() -> None:
    """The folders of tests are no packages, so pytest imports files by their names alone."""
    names = Counter(path.name for path in tracked("tests/*.py") if path.name.startswith("test_"))
    assert [name for name, number in names.items() if number > 1] == []


def test_no_file_is_too_long_to_read() -> None:
    shipped = [
        path for folder in ("infill_engine", "lsp_server", "bench", "train") for path in tracked(f"{folder}/*.py")
    ]
    assert [path for path in shipped if len(path.read_text().splitlines()) > MOST_LINES] == []

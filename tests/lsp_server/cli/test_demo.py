"""`infill-ls demo`: what it shows when it writes no terminal, and what it is about."""

import ast
from pathlib import Path

from command_line import infill_ls, run_here

from lsp_server.cli.demo.command import bundled

SCRIPT = {
    "rules": [
        {"before": "entry.payee, ", "candidates": ["entry.amount", "amount"]},
        {"before": "", "candidates": ["x"]},
    ],
    "steps": 3,
}


def test_the_bundled_hole(tmp_path: Path) -> None:
    done = infill_ls("demo", "--budget-ms", "5000", folder=tmp_path, script=SCRIPT)
    assert (done.returncode, done.stderr) == (0, "")
    output = done.stdout
    assert "entry.payee, ▒▒▒, entry.category" in output
    after = output.partition("step 1")[2]
    assert "▒▒" in after.partition("step 2")[0]  # some slots wait for a later step
    assert "    entry.amount∎" in after
    assert "«entry.amount», entry.category" in output
    assert "The author wrote: entry.amount" in output


def test_a_place_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("first = 1\nsecond = \n", encoding="utf-8")
    done = run_here("demo", "own.py:2:10", "--budget-ms", "5000", folder=tmp_path)
    assert done.returncode == 0
    assert "second = ▒▒▒" in done.stdout
    assert "The author wrote" not in done.stdout


def test_it_is_an_explicit_request(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("first = 1\nsecond = \n", encoding="utf-8")
    assert " ms of 600 ms (" in run_here("demo", "own.py:2:10", folder=tmp_path).stdout


def test_places_that_are_none(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=\n", encoding="utf-8")
    done = run_here("demo", ".env:1:5", folder=tmp_path)
    assert (done.returncode, "are not read" in done.stdout) == (0, True)
    done = run_here("demo", "missing.py:1:5", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not exist" in done.stderr


def test_the_bundled_file_is_whole_with_its_piece() -> None:
    (named, opened), piece = bundled()
    row, column = opened.place
    assert (named.line, named.column) == (row + 1, column + 1)
    lines = list(opened.snapshot.lines)
    lines[row] = lines[row][:column] + piece + lines[row][column:]
    ast.parse("".join(lines))

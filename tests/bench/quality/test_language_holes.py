"""Holes in the files of many languages, and what is reported of them."""

from pathlib import Path

import pytest

from bench.quality.measuring import measure
from bench.quality.problems.language_holes import draw_language_tasks, holes_of
from bench.quality.reports.language_report import draw_languages, print_languages
from bench.quality.reports.metrics import indentation_is_wrong
from bench.quality.reports.outcomes import by_language
from bench.quality.systems.product import copy, nothing
from bench.replay.sources import SourceFile
from infill_engine.errors import InputError
from infill_engine.text.languages import language

GO = "package a\n\n// why\nfunc f(a int) int {\n\tif g(a, one) {\n\t\th(a)\n\t\tk(two)\n\t}\n\treturn a\n}\n"
SHELL = '# why\nf() {\n  local first="$1"\n  echo "$first" second\n  return 1\n}\n'


def places(identifier: str, text: str) -> tuple[set[str], set[str], set[str], set[str]]:
    file = holes_of(language(identifier), SourceFile("a", "a", text))
    cut = [
        "\n".join([*file.lines[row:end_row], file.lines[end_row][:end]])[start:]
        if end_row > row
        else file.lines[row][start:end]
        for row, start, end_row, end in (*file.middles, *file.blocks)
    ]
    middles, blocks = cut[: len(file.middles)], cut[len(file.middles) :]
    assert file.statement_rows is not None
    statements = {file.lines[row].strip() for row in file.statement_rows}
    return set(middles), set(blocks), statements, {file.lines[row].strip() for row in file.code_rows}


def test_places_in_go() -> None:
    middles, blocks, statements, code = places("go", GO)
    assert {"a", "one", "two"} <= middles
    assert "h(a)\n\t\tk(two)" in blocks
    assert statements == {"package a", "func f(a int) int {", "if g(a, one) {", "h(a)", "k(two)", "return a"}
    assert "// why" not in code
    assert "}" in code


def test_places_in_a_shell_script() -> None:
    middles, blocks, statements, code = places("sh", SHELL)
    assert '"$first"' in middles
    assert 'local first="$1"\n  echo "$first" second\n  return 1' in blocks
    assert "return 1" in statements
    assert "# why" not in code


def test_a_block_ends_before_what_follows_its_brace() -> None:
    text = "try {\n  one();\n  two();\n} catch (e) {\n  three();\n  four();\n}\n"
    assert places("javascript", text)[1] == {"one();\n  two();", "three();\n  four();"}


def test_what_does_not_parse_has_no_holes() -> None:
    assert holes_of(language("go"), SourceFile("a", "a", "func (((\n" * 5)).code_rows == []
    assert holes_of(language("go"), SourceFile("a", "a", GO.replace("\n", "\r\n"))).code_rows == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("go/one/a.go", GO), ("go/two/b.go", GO), ("shell/one/a.sh", SHELL), ("klingon/one/a", "nuq")):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path


def test_languages_are_drawn_and_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = draw_language_tasks(folder, 2, seed=0)
    assert {task.language for task in tasks} == {"go", "shellscript"}
    assert tasks == draw_language_tasks(folder, 2, seed=0)
    assert all(task.id.startswith(f"{task.language}/") for task in tasks)
    languages = by_language(measure(tasks, {"nothing": nothing, "copy": copy}, 4, 5_000), 4)
    assert set(languages["go"]) == {"nothing", "copy"}
    print_languages(languages, 4)
    assert "shellscript" in capsys.readouterr().out
    draw_languages(languages, 4, folder / "picture.png")
    assert (folder / "picture.png").stat().st_size > 1000


def test_a_folder_without_languages(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match="a folder for each language"):
            draw_language_tasks(path, 2, seed=0)


@pytest.mark.parametrize(
    ("candidate", "indent", "wrong"),
    [
        ("a();\n  b();", "  ", False),
        ("a();\nb();", "  ", True),
        ("if a {\n\t\tb()\n\t}", "\t", False),
        ("if a {\n\t  \tb()\n\t}", "\t", True),
        ("a();", "  ", False),
    ],
)
def test_indentation(candidate: str, indent: str, wrong: bool) -> None:
    assert indentation_is_wrong(candidate, indent, "go") is wrong

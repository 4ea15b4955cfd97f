"""Every reason has words and is explained on a page. docs/no-suggestion.md names every file that decides one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from infill_engine.edits.types import NoEditReason
from infill_engine.types import Reason
from lsp_server.protocol.reasons import NO_EDIT_REASONS, REASONS, told

REPOSITORY = Path(__file__).parents[1]
PAGE = (REPOSITORY / "docs" / "no-suggestion.md").read_text()
MEANINGS, PLACES = PAGE.split("## Where each is decided")
ROW = re.compile(r"^\| (`[^|]*) \|(.*)\|$", re.MULTILINE)
NEXT_EDITS = (REPOSITORY / "docs" / "next-edit.md").read_text()
DISPLAYING = (
    "lsp_server/cli/",
    "lsp_server/status.py",
    "lsp_server/protocol/reasons.py",
)  # these show a reason that was decided elsewhere


def decided(tree: ast.AST) -> Iterator[str]:
    """Yield the names of the reasons that a file's code decides, not those that it compares, describes or looks up."""
    looked_up = tree.keys if isinstance(tree, ast.Dict) else ()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Compare | ast.Tuple | ast.Subscript) or node in looked_up:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Reason":
            yield node.attr
        yield from decided(node)


def deciding_files() -> set[tuple[str, str]]:
    sources = [path for package in ("lsp_server", "infill_engine") for path in (REPOSITORY / package).rglob("*.py")]
    return {
        (Reason[name].value, file)
        for path in sources
        if not (file := path.relative_to(REPOSITORY).as_posix()).startswith(DISPLAYING)
        for name in decided(ast.parse(path.read_text()))
    }


def documented_files() -> set[tuple[str, str]]:
    return {
        (reason, file)
        for reasons, files in ROW.findall(PLACES)
        for reason in re.findall("`([a-z_]+)`", reasons)
        for file in re.findall("`((?:lsp_server|infill_engine)/[^`]+)`", files)
    }


@pytest.mark.parametrize("text", [MEANINGS, PLACES])
def test_every_reason_is_explained(text: str) -> None:
    assert {name for cell, _ in ROW.findall(text) for name in re.findall("`([a-z_]+)`", cell)} == set(Reason)


def test_every_reason_of_next_edits_is_explained() -> None:
    table = NEXT_EDITS.split("| reason | meaning |")[1].split("\n\n")[0]
    assert {name for cell, _ in ROW.findall(table) for name in re.findall("`([a-z_]+)`", cell)} == set(NoEditReason)


def test_every_reason_has_words() -> None:
    assert (set(REASONS), set(NO_EDIT_REASONS)) == (set(Reason), set(NoEditReason))
    for reason, explanation in (*REASONS.items(), *NO_EDIT_REASONS.items()):
        assert told(reason) == {
            "reason": reason.value,
            "explanation": {"words": explanation.words, "sentence": explanation.sentence},
        }
        assert explanation.words == explanation.words.rstrip(".")
        assert explanation.sentence.endswith(".")


@pytest.mark.parametrize(
    ("file", "start"),
    [("editors/nvim/lua/infill/status.lua", "local HELP = {"), ("editors/vscode/src/words.ts", "const HELP")],
)
def test_the_editors_know_what_helps_only_for_reasons_that_exist(file: str, start: str) -> None:
    table = (REPOSITORY / file).read_text().split(start)[1].split("\n}")[0]
    keys = set(re.findall(r"^\s+(\w+)\s*[=:] ", table, re.MULTILINE))
    assert keys
    assert keys <= set(Reason)


def test_every_file_that_decides_is_named() -> None:
    assert deciding_files() - documented_files() == set()


def test_the_named_files_exist() -> None:
    assert [file for _, file in documented_files() if not (REPOSITORY / file).exists()] == []


def test_comparisons_do_not_decide() -> None:
    code = (
        "if reason is Reason.BLANK: reason = Reason.UNDO\nS = (Reason.LOADING,)\nA = {Reason.DEADLINE: 1}[Reason.BLANK]"
    )
    assert set(decided(ast.parse(code))) == {"UNDO"}

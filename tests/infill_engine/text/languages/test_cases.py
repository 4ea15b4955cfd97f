"""What each language must get right: `cases/<id>.toml` holds marked cursors and what is expected there.

scans         text, and the brackets, and the quote or comment, that it leaves open
holes         a cursor `|` (or `│`), and the kind, indentation and closers of the hole there
cleaned       a text for the hole at a cursor, and what is left of it
rules         a rule of the clean-up, a text for the hole at a cursor, and what the rule leaves; nothing if dropped
renamed       a cursor, and the line carried over from its like above
definitions   a line, and the name that it defines
sample        code, and some of what the query finds in it
"""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infill_engine.context.drafts.continuation import around_hole
from infill_engine.context.drafts.renamed_match import find_analogies
from infill_engine.context.hole import BLOCK_LINES, hole_at
from infill_engine.ranking.cleanup import RULES, clean
from infill_engine.text import syntax
from infill_engine.text.delimiters import Scan, scan
from infill_engine.text.languages import Support, all_entries, language
from infill_engine.text.languages.queries import captures
from infill_engine.types import Hole, HoleKind, InfillRequest

FOLDER = Path(__file__).parent / "cases"
CASES = {path.stem: tomllib.loads(path.read_text()) for path in sorted(FOLDER.glob("*.toml"))}


def cases(kind: str) -> list[Any]:
    return [
        pytest.param(name, case, id=f"{name}-{number}")
        for name, groups in CASES.items()
        for number, case in enumerate(groups.get(kind, []))
    ]


def sides(marked: str) -> tuple[str, str]:
    prefix, _, suffix = marked.partition("│" if "│" in marked else "|")
    return prefix, suffix


@pytest.mark.parametrize(("name", "case"), cases("scans"))
def test_what_a_text_leaves_open(name: str, case: dict[str, str]) -> None:
    expected = Scan(case.get("opened", ""), "", case.get("inside", ""))
    found = scan(case["text"], name)
    assert (found.inside, found.opened) == (expected.inside, expected.opened if not expected.inside else found.opened)


@pytest.mark.parametrize(("name", "case"), cases("holes"))
def test_the_hole_at_a_cursor(name: str, case: dict[str, str]) -> None:
    kind = HoleKind(case["kind"])
    lines = BLOCK_LINES if kind is HoleKind.BLOCK else 1
    assert hole_at(*sides(case["at"]), name) == Hole(kind, lines, case.get("indent", ""), case.get("closers", ""))


@pytest.mark.parametrize(("name", "case"), cases("cleaned"))
def test_what_is_left_of_a_text(name: str, case: dict[str, Any]) -> None:
    prefix, suffix = sides(case["at"])
    hole = hole_at(prefix, suffix, name)
    hole = replace(hole, max_lines=case.get("max_lines", max(hole.max_lines, case["expected"].count("\n") + 1)))
    assert clean(case["text"], InfillRequest(prefix, suffix, name), hole) == case["expected"]


@pytest.mark.parametrize(("name", "case"), cases("rules"))
def test_what_a_rule_leaves_of_a_text(name: str, case: dict[str, str]) -> None:
    prefix, suffix = sides(case["at"])
    [rule] = [each for each in RULES if each.__name__ == case["rule"]]
    request = InfillRequest(prefix, suffix, name)
    assert rule(case["text"], request, hole_at(prefix, suffix, name)) == case.get("expected")


@pytest.mark.parametrize(("name", "case"), cases("renamed"))
def test_a_line_carried_over(name: str, case: dict[str, str]) -> None:
    prefix, suffix = sides(case["at"])
    hole = hole_at(prefix, suffix, name)
    drafts = find_analogies(around_hole(prefix, suffix), (prefix, suffix), hole, 4, name)
    assert [draft.text for draft in drafts][:1] == [case["expected"]]


@pytest.mark.parametrize(("name", "case"), cases("definitions"))
def test_the_name_that_a_line_defines(name: str, case: dict[str, str]) -> None:
    assert language(name).code.defined(case["line"]) == (case["name"] or None)


@pytest.mark.parametrize("name", [name for name, groups in CASES.items() if "sample" in groups])
def test_what_the_query_finds(name: str) -> None:
    sample = CASES[name]["sample"]
    tree = syntax.parse(sample["text"], name)
    assert tree is not None
    assert syntax.faults(tree) == 0
    found = captures(language(name), tree.root_node)
    for kind, capture in (("argument", "hole.argument"), ("statement", "hole.statement"), ("block", "hole.block")):
        texts = {node.text.decode() for node in found.get(capture, [])}
        assert set(sample.get(kind, [])) <= texts, kind
    prose = sorted(found.get("prose", []), key=lambda node: node.start_byte)
    assert [node.text.decode() for node in prose] == sample.get("prose", [])


def test_every_language_with_a_grammar_has_cases() -> None:
    assert {entry.id for entry in all_entries() if entry.support is not Support.TEXT} <= set(CASES)

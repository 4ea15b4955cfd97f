"""Grammars that load, those that do not, and queries that do not fit."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from infill_engine.text.languages import all_entries, grammar_of, grammar_trouble, language, queries
from infill_engine.text.languages.queries import holes_query
from infill_engine.text.languages.record import Entry, Grammar, Language, RecordError

WITH_GRAMMAR = [entry for entry in all_entries() if entry.grammar is not None]


def with_grammar(module: str, function: str = "language", queries: str = "x") -> Language:
    return replace(
        language("python"),
        id=f"{module} {function}",
        grammar=Grammar(module=module, function=function, queries=queries),
    )


@pytest.mark.parametrize("entry", WITH_GRAMMAR, ids=lambda entry: entry.id)
def test_every_grammar_and_query_loads(entry: Entry) -> None:
    assert grammar_of(entry) is not None
    assert grammar_trouble(entry) == ""
    query = holes_query(language(entry.id))
    assert query is not None
    assert query.capture_count > 0


def test_a_wheel_that_is_missing_is_one_line() -> None:
    entry = with_grammar("tree_sitter_klingon")
    assert grammar_of(entry) is None
    assert grammar_trouble(entry).startswith("Python: tree-sitter-klingon is not installed or cannot be loaded")
    assert "\n" not in grammar_trouble(entry)


def test_a_wheel_without_the_function() -> None:
    assert grammar_trouble(with_grammar("tree_sitter_python", "lingo")) == (
        "Python: tree-sitter-python has no lingo; another version of it is needed"
    )


def test_a_wheel_of_another_abi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tree_sitter

    def refuse(_pointer: object) -> None:
        raise ValueError("Incompatible Language version 3. Must be between 13 and 15")

    monkeypatch.setattr(tree_sitter, "Language", refuse)
    trouble = grammar_trouble(with_grammar("tree_sitter_c"))
    assert trouble.startswith("Python: tree-sitter-c does not fit tree-sitter 0.")
    assert "version 3" in trouble


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(klingon) @hole.argument", "does not fit the grammar"),
        ("(block", "does not fit the grammar"),
        ("(block) @hole", "@hole is unknown"),
    ],
)
def test_a_query_that_is_wrong(text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "holes.scm").write_text(text)
    monkeypatch.setattr(queries, "FOLDER", tmp_path)
    queries.load_query.cache_clear()
    known = with_grammar("tree_sitter_python", queries="x")
    with pytest.raises(RecordError, match=message):
        holes_query.__wrapped__(known)
    queries.load_query.cache_clear()

"""How a language is found."""

import subprocess
import sys

import pytest

from infill_engine.text.languages import Support, all_entries, language, language_of, related


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("python", "Python"),
        ("Python", "Python"),
        ("sh", "shell"),
        ("bash", "shell"),
        ("shellscript", "shell"),
        ("cs", "C#"),
        ("csharp", "C#"),
        ("javascriptreact", "JavaScript with JSX"),
        ("typescriptreact", "TypeScript with JSX"),
        ("cpp", "C++"),
        ("klingon", "plain text"),
        ("", "plain text"),
    ],
)
def test_by_identifier(identifier: str, name: str) -> None:
    assert language(identifier).name == name


@pytest.mark.parametrize(
    ("path", "first_line", "expected"),
    [
        ("a.py", "", "python"),
        ("/x.y/A.RB", "", "ruby"),
        ("Gemfile", "", "ruby"),
        (".bashrc", "", "shellscript"),
        ("a.h", "", "c"),
        ("a.hpp", "", "cpp"),
        ("a.vue", "", "vue"),
        ("run", "#!/bin/sh", "shellscript"),
        ("run", "#!/usr/bin/env python3.11", "python"),
        ("run", "#! /usr/bin/env -S node --no-warnings", "javascript"),
        ("run", "#!/usr/local/bin/ruby -w", "ruby"),
        ("run", "#!/usr/bin/env klingon", None),
        ("run", "#!", None),
        ("run", "x = 1", None),
        ("a.py", "#!/bin/sh", "python"),
    ],
)
def test_by_file(path: str, first_line: str, expected: str | None) -> None:
    assert language_of(path, first_line) == expected


def test_names_are_unique() -> None:
    for names in ("aliases", "suffixes", "file_names", "shebangs"):
        found = [name for entry in all_entries() for name in (getattr(entry.identity, names))]
        if names == "aliases":
            found += [entry.id for entry in all_entries()]
        assert len(found) == len(set(found)), names


def test_related_languages_are_searched_together() -> None:
    assert {"typescript", "typescriptreact", "javascript", "ts"} <= related("javascriptreact")
    assert {"c", "cpp"} <= related("c") == related("cpp")
    assert related("python") == {"python", "py", "python3"}
    assert related("klingon") == {"klingon"}


def test_what_has_a_grammar_is_first_or_second_class() -> None:
    for entry in all_entries():
        assert (entry.grammar is None) is (entry.support is Support.TEXT), entry.id


def test_finding_a_language_loads_no_grammar() -> None:
    program = (
        "import sys\nfrom infill_engine.text.languages import language, language_of\n"
        "language(language_of('a.ts')).code.defined('class A')\n"
        "assert not {m for m in sys.modules if m.startswith(('tree_sitter', 'torch'))}\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

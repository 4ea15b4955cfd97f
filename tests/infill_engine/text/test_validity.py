"""Valid and invalid texts of data languages."""

import pytest

from infill_engine.text.validity import faults_of, is_strict


@pytest.mark.parametrize(
    ("language", "text", "valid"),
    [
        ("json", '{"a": [1, 2]}', True),
        ("json", '{"a": [1, 2}', False),
        ("json", '{"a": 1,}', False),
        ("json", "[" * 100_000, False),
        ("jsonc", '{"a": 1 /* one */}', True),
        ("toml", "a = 1\n", True),
        ("toml", "a = \n", False),
        ("yaml", "a:\n  - b\n", True),
        ("yaml", "a: [1\nb: 2\n", False),
        ("sql", "SELECT a FROM b;", True),
        ("sql", "SELECT FROM WHERE;;(", False),
        ("python", "def (", False),
        ("plaintext", "def (", True),
    ],
)
def test_validity(language, text, valid):
    assert (faults_of(text, language) == 0) is valid


def test_strict_languages():
    assert [is_strict(language) for language in ("json", "yaml", "toml", "sql", "python")] == [True] * 4 + [False]

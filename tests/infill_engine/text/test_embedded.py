"""Code in another language within a document is treated as its own language."""

import pytest

from infill_engine.context.hole import hole_at
from infill_engine.text.embedded import language_at, region, within_embedded
from infill_engine.types import InfillRequest

CURSOR = "│"


@pytest.mark.parametrize(
    ("language", "marked", "expected"),
    [
        ("markdown", "# Title\n\n```python\nx = │\n```\n", "python"),
        ("markdown", "```go\na()\n```\n\ntext │\n", "markdown"),
        ("markdown", "```sh\necho │\n```\n", "sh"),
        ("markdown", "```klingon\nnuq │\n```\n", "markdown"),
        ("markdown", "```py│", "markdown"),
        ("markdown", "```python\r\nx = │\r\n```\r\n", "python"),
        ("html", "<p>a</p>\n<script>\nlet a = │\n</script>\n", "javascript"),
        ("html", "<script>\nlet a\n</script>\n<p>│</p>\n", "html"),
        ("html", "<style>\na { color: │ }\n</style>\n", "css"),
        ("php", "<ul>\n  │\n</ul>\n", "html"),
        ("php", "<p>│</p>", "html"),
        ("php", "<ul>\n  │\n</ul>\n<?php f();\n", "html"),
        ("php", "<ul>\n<?php f(); │\n", "php"),
        ("php", "$a < $b;\n│\n", "php"),
        ("python", "x = '''\n```go\n│\n```\n'''\n", "python"),
    ],
)
def test_the_language_at_the_cursor(language: str, marked: str, expected: str) -> None:
    prefix, suffix = marked.split(CURSOR)
    assert language_at(prefix, suffix, language) == expected


def test_only_the_embedded_code_is_seen() -> None:
    prefix, suffix = "Prose.\n\n```go\nfunc f() {\n\tg(", ")\n}\n```\n\nMore prose.\n"
    found = region(prefix, suffix, "markdown")
    assert found is not None
    assert (found.prefix, found.suffix) == ("func f() {\n\tg(", ")\n}\n")
    request = within_embedded(InfillRequest(prefix, suffix, "markdown"))
    assert (request.prefix, request.suffix, request.language) == (found.prefix, found.suffix, "go")


def test_a_hole_in_a_fence_is_one_of_its_language() -> None:
    prefix, suffix = "Prose.\n\n```python\ndef f(a):\n    ", "\n```\n"
    request = within_embedded(InfillRequest(prefix, suffix, "markdown"))
    assert hole_at(request.prefix, request.suffix, request.language) == hole_at(
        "def f(a):\n    ", suffix.removesuffix("```\n"), "python"
    )

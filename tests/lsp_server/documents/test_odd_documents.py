"""Documents that are generated, minified, or mix line ends and indents: bounded work, and answers all the same.

What is counted does not depend on the machine: bytes that are parsed, and characters of the request.
"""

import json
import sys
from pathlib import Path

import pytest
from tree_sitter import Parser, Tree

sys.path.append(str(Path(__file__).parents[1] / "cli"))
from command_line import run_here

from infill_engine.context.window import WIDER_CONTEXT_CHARS
from infill_engine.settings import USUAL_WINDOW
from infill_engine.text import syntax
from lsp_server.documents.snapshots import Documents
from lsp_server.documents.syntax_tree import LARGEST_BYTES
from lsp_server.settings.schema import ServerSettings
from lsp_server.suggestions.request_content import AFTER_CHARS, BEFORE_CHARS, build_request

FUNCTION = "export function f{0}(a, b) {{\n  return g{0}(a, b);\n}}\n\n"
GENERATED = "".join(FUNCTION.format(number) for number in range(5_000))  # 20,000 lines
MINIFIED = "".join(f"function f{number}(a,b){{return g(a,b)}};" for number in range(14_000))  # one line of 500 kB
MIXED = "function f(a) {\n\tif (a) {\n        g(a);\n\t    h(a);\n\t}\n}\n"
WINDOWS = "function f(a) {\r\n  g(a);\r\n  \r\n}\r\n"
SCRIPT: dict[str, object] = {"rules": [{"before": "", "candidates": ["one(a)", "two(a)"]}]}


class CountingParser:
    """A parser that adds up the bytes it is given."""

    seen = 0

    def __init__(self, parser: Parser) -> None:
        self._parser = parser

    def parse(self, source: bytes, *earlier: Tree) -> Tree:
        CountingParser.seen += len(source)
        return self._parser.parse(source, *earlier)


@pytest.fixture(autouse=True)
def parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = syntax.parser_for

    def counting(language: str) -> object:
        parser = real(language)
        return None if parser is None else CountingParser(parser)

    CountingParser.seen = 0
    monkeypatch.setattr(syntax, "parser_for", counting)


@pytest.mark.parametrize(
    ("text", "place", "most_bytes"),
    [
        (GENERATED, (10_001, 9), 40_000),  # an excerpt
        (GENERATED, (19_997, 9), 40_000),
        (MINIFIED, (0, 250_000), 2_000),  # too long for a tree
        (MINIFIED[:200_000], (0, 100_000), LARGEST_BYTES),
        (MIXED, (3, 5), 1_000),
        (WINDOWS, (2, 2), 1_000),
    ],
    ids=["generated", "generated, end", "minified", "shorter", "mixed", "crlf"],
)
def test_the_work_for_a_request_is_bounded(text: str, place: tuple[int, int], most_bytes: int) -> None:
    snapshot = Documents().open("file:///a.js", "javascript", text)
    request = build_request(snapshot, place, ServerSettings())
    assert CountingParser.seen <= most_bytes
    assert len(request.prefix) <= USUAL_WINDOW.prefix_chars
    assert len(request.suffix) <= USUAL_WINDOW.suffix_chars
    assert max(map(len, request.wider_context)) <= WIDER_CONTEXT_CHARS <= min(AFTER_CHARS, BEFORE_CHARS)
    assert request.hole is not None
    assert request.hole.max_lines >= 1


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (GENERATED, (10_001, 9)),
        (MINIFIED, (0, 250_000)),
        (MIXED, (3, 5)),
        (WINDOWS, (2, 2)),
    ],
    ids=["generated", "minified", "mixed", "crlf"],
)
def test_completions_go_on(text: str, place: tuple[int, int], tmp_path: Path) -> None:
    (tmp_path / "a.js").write_bytes(text.encode())
    row, column = place
    place = f"a.js:{row + 1}:{column + 1}"
    ran = run_here("complete", place, "--json", "--budget-ms", "2000", folder=tmp_path, script=SCRIPT)
    assert ran.returncode == 0, ran.stderr
    texts = [candidate["text"] for candidate in json.loads(ran.stdout)["candidates"]]
    assert texts
    assert all("\r" not in candidate for candidate in texts)

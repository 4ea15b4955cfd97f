"""Paths of the project's files, at the cursor │: the only one that fits is sure."""

import pytest

from infill_engine.context.drafts.find_drafts import find_drafts
from infill_engine.context.drafts.paths import find_paths
from infill_engine.types import Hole, HoleKind

FILES = [
    "src/lexer.ts",
    "src/parser.ts",
    "src/page.html",
    "src/css/base.css",
    "src/css/print.css",
    "src/ring.h",
    "src/list.h",
    "src/invoice.rb",
    "src/order.rb",
    "src/Mailer.php",
    "other/far.ts",
]


@pytest.mark.parametrize(
    ("language", "marked", "expected"),
    [
        ("typescript", "import { Parser } from './│';\n", ["parser"]),
        ("typescript", "import { Parser } from './pa│';\n", ["rser"]),
        ("typescript", "import { x } from '../other/│';\n", ["far"]),
        ("typescript", "import { x } from './│';\n", ["lexer?", "parser?"]),
        ("typescript", "import { x } from './│';\nimport { y } from './lexer';\n", ["parser"]),
        ("typescript", "const s = './│';\n", []),
        ("html", '<link href="css/base.css">\n<link href="css/│.css">\n', ["print"]),
        ("c", '#include "│"\n\nint n = ring_size();\n', ["ring.h"]),
        ("c", '#include "│.h"\n\nint n = ring_size();\n', ["ring"]),
        ("ruby", "require_relative '│'\n\nInvoice.new\n", ["invoice"]),
        ("php", "<?php\nrequire '│';\n$m = new Mailer();\n", ["Mailer.php"]),
    ],
)
def test_paths(language: str, marked: str, expected: list[str]) -> None:
    before, _, after = marked.partition("│")
    found = find_paths(before, after, language, "src/main", FILES)
    assert [draft.text + ("" if draft.sure else "?") for draft in found] == expected


def test_nothing_without_a_project() -> None:
    assert find_paths("import './", "'\n", "typescript", "", FILES) == []
    assert find_paths("import './", "'\n", "typescript", "src/main", []) == []


def test_files_come_before_names() -> None:
    before, after = '#include "', '.h"\nint n = stack_size();\n'
    hole = Hole(HoleKind.LINE, closers='"')
    assert find_drafts(before, after, (before, after), hole, "c")[0].text == "stack"
    assert find_drafts(before, after, (before, after), hole, "c", "src/main", ["src/heap.h"])[0].text == "heap"

"""Texts that name a file which is not there. │ is the cursor."""

from pathlib import Path

import pytest

from lsp_server.documents.snapshots import Documents
from lsp_server.suggestions.unasked import invents

CASES = [
    # the document, the text, and whether it names what is missing
    ("a.ts", "import │\n", "parse from './parse';", True),
    ("a.ts", "import │\n", "parse from './lexer';", False),
    ("a.ts", "import │\n", "parse from './lexer.js';", True),
    ("a.ts", "import │\n", "parse from './lib';", False),  # a folder
    ("a.ts", "import │\n", "parse from 'package';", False),  # not a file of the project
    ("a.ts", "import parse from './missing'│\n", ";", False),  # written by the user
    ("a.ts", "import x from './mis│'\n", "sing", True),
    ("a.ts", "x = │\n", "'./missing'", False),
    ("a.ts", "import │\n", "x from './open';", False),  # open, but not saved
    ("b.py", "│\n", "from .missing import a", True),
    ("b.py", "│\n", "from .helpers import a", False),
    ("b.py", "│\n", "from . import helpers", False),
    ("lib/c.py", "│\n", "from ..helpers import a", False),
    ("d.c", "│\n", '#include "missing.h"', True),
    ("d.c", "│\n", '#include "ring.h"', False),
    ("d.c", "│\n", '#include "deep.h"', False),  # where a compiler finds it
    ("d.c", "│\n", "#include <stdio.h>", False),
    ("e.rb", "│\n", "require_relative 'missing'", True),
    ("e.rb", "│\n", "require_relative 'lib/tool'", False),
    ("f.rs", "│\n", "mod missing;", True),
    ("f.rs", "│\n", "mod lexer;", False),
    ("g.html", "│\n", '<link href="missing.css">', True),
    ("g.html", "│\n", '<script src="https://host/app.js"></script>', False),
    ("h.scss", "│\n", "@use './colors';", False),
    ("h.ts", "│\n", "x = 1\nimport './missing';", True),
]


@pytest.mark.parametrize(("name", "marked", "text", "expected"), CASES)
def test_invented(tmp_path: Path, name: str, marked: str, text: str, expected: bool) -> None:
    for path in ("lexer.ts", "lexer.rs", "helpers.py", "ring.h", "lib/tool.rb", "_colors.scss"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    snapshot = Documents().open((tmp_path / name).as_uri(), "x", marked.replace("│", ""))
    place = (0, marked.index("│"))
    known = [f"{tmp_path}/open.ts", "include/deep.h"]
    assert invents(snapshot, place, place, text, known) is expected


def test_a_folder_that_is_not_there() -> None:
    snapshot = Documents().open("file:///nowhere/a.ts", "typescript", "\n")
    assert invents(snapshot, (0, 0), (0, 0), "import './b';", [])
    assert not invents(snapshot, (0, 0), (0, 0), "import './b';", ["/nowhere/b.ts"])

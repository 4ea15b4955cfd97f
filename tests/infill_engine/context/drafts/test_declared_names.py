"""Names that the file declares, at the cursor │: the only one that may stand there is sure."""

import pytest

from infill_engine.context.drafts.names import find_names

COMPOSE = "services:\n  db:\n    image: postgres\n  web:\n    depends_on:\n      - │\n"
JOBS = "jobs:\n  build:\n    steps:\n      - run: make\n  deploy:\n    needs: │\n"
QUEUE = '#include "queue.h"\n#include "│.h"\n\nint main(void) {\n    s = stack_new();\n    return stack_size(s);\n}\n'
STYLES = '<link href="css/base.css">\n<link href="css/│.css">\n<script src="js/theme.js"></script>\n'
STAGES = "FROM golang AS build\nFROM alpine\nCOPY --from=│ /app /app\n"


@pytest.mark.parametrize(
    ("language", "marked", "expected"),
    [
        ("yaml", COMPOSE, ["db"]),
        ("yaml", COMPOSE.replace("- │", "- d│"), ["b"]),
        ("yaml", COMPOSE.replace("\n      - │", " [│]"), ["db"]),
        ("yaml", COMPOSE.replace("- │", "- db\n      - │"), []),
        ("yaml", COMPOSE + "  cache:\n    image: redis\nvolumes:\n  data:\n", ["db?", "cache?"]),
        ("yaml", COMPOSE.replace("- │", "- db\n      - │") + "  cache:\n    image: redis\n", ["cache"]),
        ("yaml", JOBS, ["build"]),
        ("yaml", "base: &base\n  a: 1\nother:\n  <<: *│\n", ["base"]),
        ("yaml", "needs: │\n", []),
        ("c", QUEUE, ["stack"]),
        ("cpp", QUEUE, ["stack"]),
        ("c", QUEUE.replace('.h"\n\n', '"\n\n'), ["stack.h"]),
        ("c", QUEUE + "int stack_new(void) {\n    return 0;\n}\nint stack_size(int s) {\n    return 0;\n}\n", []),
        ("html", STYLES, ["theme"]),
        ("html", STYLES.replace('css">\n<s', 'css"><link href="css/theme.css">\n<s'), []),
        ("html", '<label for="│">Mail</label>\n<input id="email">\n', ["email"]),
        ("css", ":root { --accent: red; }\n.a { color: var(│); }\n", ["--accent"]),
        ("css", ":root { --a: red; --b: blue; }\n.a { color: var(│); }\n", ["--a?", "--b?"]),
        ("dockerfile", STAGES, ["build"]),
        ("makefile", ".PHONY: │\n\nclean:\n\trm app\n", ["clean"]),
        ("latex", "\\label{sec:a}\nSection~\\ref{│}\n", ["sec:a"]),
        ("shellscript", 'NAME="😀"\necho "😀 $│"\necho "$NAME"\n', ["NAME"]),
        ("python", "a = 1\nb = │\n", []),
    ],
)
def test_names(language: str, marked: str, expected: list[str]) -> None:
    before, _, after = marked.partition("│")
    found = find_names(before, after, language)
    assert [draft.text + ("" if draft.sure else "?") for draft in found] == expected

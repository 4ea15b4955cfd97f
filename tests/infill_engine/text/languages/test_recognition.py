"""What language a document is in, where its name or the editor may be wrong."""

import pytest

from infill_engine.text.languages import recognise
from infill_engine.text.languages.recognition import LOOKED_AT, Evidence

CLASS = "#pragma once\n\nclass Cart {\n public:\n  int total() const;\n};\n"
PLAIN_C = "#ifndef CART_H\n#include <stdio.h>\nstruct cart { int total; };\nint add(struct cart *cart);\n#endif\n"


@pytest.mark.parametrize(
    ("identifier", "path", "text", "expected", "evidence"),
    [
        ("c", "cart.h", CLASS, "cpp", Evidence.CONTENT),
        ("c", "file:///src/cart.h", "#include <vector>\nint f();\n", "cpp", Evidence.CONTENT),
        ("c", "cart.h", "std::string name();\n", "cpp", Evidence.CONTENT),
        ("c", "cart.h", PLAIN_C, "c", Evidence.EDITOR),
        ("c", "cart.c", CLASS, "c", Evidence.EDITOR),
        ("c", "cart.h", "\ufeff" + "// only a comment about a class\n", "c", Evidence.EDITOR),
        ("objective-c", "cart.h", CLASS, "objective-c", Evidence.EDITOR),
        ("python", "cart.h", CLASS, "python", Evidence.EDITOR),
        ("typescript", "app_de.ts", '<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS>', "xml", Evidence.CONTENT),
        ("typescript", "app.ts", "const xml = '<?xml';\n", "typescript", Evidence.EDITOR),
        ("plaintext", "head.inc", "<?php\necho 1;\n", "php", Evidence.CONTENT),
        ("plaintext", "head.inc", "mov eax, 1\n", "plaintext", Evidence.NONE),
        ("plaintext", "a.rs", "", "rust", Evidence.NAME),
        ("", "run", "#!/usr/bin/env python3\nprint(1)\n", "python", Evidence.FIRST_LINE),
        ("", "run", "#!/bin/sh\r\necho 1\r\n", "shellscript", Evidence.FIRST_LINE),
        ("plaintext", "run", "x\n\n# vim: set ts=4 ft=ruby :\n", "ruby", Evidence.MODELINE),
        ("plaintext", "run", "// -*- mode: c++; tab-width: 4 -*-\n", "cpp", Evidence.MODELINE),
        ("plaintext", "run", "# -*- python -*-\n", "python", Evidence.MODELINE),
        ("plaintext", "run", "# -*- coding: utf-8 -*-\n", "plaintext", Evidence.NONE),
        ("plaintext", "run", "# vim: ft=klingon\n", "plaintext", Evidence.NONE),
        ("klingon", "run", "", "klingon", Evidence.EDITOR),
    ],
)
def test_recognised(identifier: str, path: str, text: str, expected: str, evidence: Evidence) -> None:
    found = recognise(identifier, path, text)
    assert (found.language, found.evidence) == (expected, evidence)


def test_only_the_beginning_of_a_long_text_is_looked_at() -> None:
    assert recognise("c", "big.h", " " * LOOKED_AT + CLASS).language == "c"
    assert recognise("plaintext", "big", "x" * 1_000_000 + " vim: ft=python").language == "plaintext"
    assert recognise("plaintext", "big", "x\n" * 500_000 + "# vim: ft=python\n").language == "python"

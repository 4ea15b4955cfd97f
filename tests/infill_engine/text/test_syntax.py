"""Every grammar loads, parses, and counts what is broken."""

import json
import subprocess
import sys

import pytest

from infill_engine.text import syntax
from infill_engine.text.languages import all_entries, language_of


@pytest.mark.parametrize(
    ("language", "whole", "broken"),
    [
        ("python", "def f(a):\n    return a\n", "def f(a:\n    return a\n"),
        ("javascript", "let a = f(1);\n", "let a = f(1;\n"),
        ("javascriptreact", "let a = <b c={d}/>;\n", "let a = <b c={d/>;\n"),
        ("typescript", "let a: T = <T>f(1);\n", "let a: T = f(1;\n"),
        ("typescriptreact", "let a: T = <b/>;\n", "let a: T = <b;\n"),
        ("json", '{"a": [1]}', '{"a": [1}'),
        ("jsonc", '// a\n{"a": [1]}', '{"a": [1}'),
        ("go", "package a\nfunc f() {}\n", "package a\nfunc f( {}\n"),
        ("rust", "fn f() {}\n", "fn f( {}\n"),
        ("java", "class A { void f() {} }\n", "class A { void f( {} }\n"),
        ("c", "int f(void) { return 1; }\n", "int f(void) { return 1 }\n"),
    ],
)
def test_a_grammar_tells_whole_from_broken(language: str, whole: str, broken: str) -> None:
    fine, faulty = syntax.parse(whole, language), syntax.parse(broken, language)
    assert fine is not None
    assert faulty is not None
    assert syntax.faults(fine) == 0
    assert syntax.faults(faulty) > 0


def test_more_breaks_count_more_and_counting_ends() -> None:
    found = []
    for count in (1, 2, 5000):
        tree = syntax.parse("x = = 1\ny = 2\n" * count, "python")
        assert tree is not None
        found.append(syntax.faults(tree))
    assert found[0] < found[1] < found[2] <= syntax.MOST_VISITED


def test_a_language_without_a_grammar_is_no_error() -> None:
    assert syntax.parser_for("klingon") is None
    assert syntax.parse("x", "klingon") is None


def test_odd_characters_parse() -> None:
    tree = syntax.parse("x = '\U0001f600\ud800'\n", "python")
    assert tree is not None
    assert tree.root_node.end_byte == len(syntax.to_bytes("x = '\U0001f600\ud800'\n"))


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.py", "python"),
        ("/x.y/a.PYI", "python"),
        ("a.tsx", "typescriptreact"),
        ("a.d.ts", "typescript"),
        ("tsconfig.jsonc", "jsonc"),
        ("a.rb", "ruby"),
        ("Makefile", None),
        (".env", None),
        ("", None),
    ],
)
def test_language_of(path: str, language: str | None) -> None:
    assert language_of(path) == language


def test_grammars_load_only_when_asked_for() -> None:
    program = (
        "import sys, infill_engine.text.syntax as s, infill_engine.context.hole\n"
        "import infill_engine.context.drafts.find_drafts, infill_engine.context.window, infill_engine.ranking.cleanup\n"
        "assert not {m for m in sys.modules if m.startswith(('tree_sitter_', 'torch'))}\n"
        "s.parse('x', 'python')\n"
        "assert {m for m in sys.modules if m.startswith('tree_sitter_')} >= {'tree_sitter_python'}\n"
        "assert 'tree_sitter_c' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


DEEP = [
    "- " * 2000,
    "? " * 2000,
    "- a: " * 500,
    "".join(f"{' ' * depth}a:\n" for depth in range(400)),
    "".join(f"{' ' * (2 * depth)}- a:\n" for depth in range(300)),
    "> " * 1000 + "a\n",
    "<div>" * 2000,
    "[" * 2000,
    "{" * 2000,
    "(" * 2000,
    "if a\n" * 1000,
    "<<A\n" * 500,
    "".join(f"{' ' * depth}if a:\n" for depth in range(400)),
    "`${" * 1000,
    '"#{' * 1000,
    'R"a(' * 1000,
    "--[" + "=" * 2000 + "[",
]


def test_no_text_is_nested_so_deeply_that_a_parser_crashes() -> None:
    languages = [entry.id for entry in all_entries() if entry.grammar is not None]
    program = (
        "import sys, json\nfrom infill_engine.text import syntax\ntexts = json.load(sys.stdin)\n"
        "for language in sys.argv[1:]:\n    print(language, flush=True)\n"
        "    for text in texts:\n        syntax.parse(text, language)\n"
    )
    command = [sys.executable, "-c", program, *languages]
    ran = subprocess.run(command, input=json.dumps(DEEP), stdout=subprocess.PIPE, text=True, timeout=300, check=False)
    assert (ran.returncode, ran.stdout.split()) == (0, languages)  # the last one that is named has crashed

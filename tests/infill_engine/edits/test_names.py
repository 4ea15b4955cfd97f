"""`|name|` marks the place of an edit; `name` between angle brackets is expected to follow."""

import re

import pytest

from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.resolution.names import Names

MARK = re.compile(r"[«»]")

CASES = {
    "a local, not the global of that name": (
        "python",
        "x = 1\ndef f():\n    «x» = 2\n    return «x» + g.x\nprint(x)\n",
    ),
    "a parameter and what closes over it": (
        "python",
        "def f(«a», b=a):\n    def g():\n        return «a»\n    def h(a):\n        return a\n    return «a»\n",
    ),
    "a class's names are not seen by its methods": (
        "python",
        "x = 0\nclass A:\n    «x» = 1\n    y = «x»\n    def f(self):\n        return x, self.«x»\n",
    ),
    "a comprehension has names of its own": ("python", "n = [«n» for «n» in n if «n»]\n"),
    "global": ("python", "«x» = 1\ndef f():\n    global «x»\n    «x» = 2\ndef g():\n    x = 3\n"),
    "nonlocal": ("python", "def f():\n    «x» = 1\n    def g():\n        nonlocal «x»\n        «x» += 1\n"),
    "an import, its alias": ("python", "import numpy as «np»\nimport x.np\na = «np».array(b.np, np=1)\n"),
    "a quoted annotation and __all__": (
        "python",
        "__all__ = ['«A»', 'B']\nclass «A»:\n    def f(self, a: '«A»', b: 'list[«A»]') -> «A»: return 'A'\n",
    ),
    "attributes of self, also in a class below": (
        "python",
        "class A:\n    def f(self):\n        self.«n» = 1\nclass B(A):\n    def g(self):\n"
        "        return self.«n», o.n\n"
        "class C:\n    def g(self):\n        return self.n\n",
    ),
    "patterns": ("python", "match q:\n    case P(n=«n»):\n        pass\n    case [n_, *rest]:\n        print(«n»)\n"),
    "with, except and for": (
        "python",
        "def f():\n    with o as (a, «b»):\n        «b»()\n    for i, (j, «b») in z: «b»\n",
    ),
    "let in a block": (
        "javascript",
        "let x = 1;\nfunction f(y) { let «x» = 2; { let x = 3; x; } return «x» + y.x; }\nx;\n",
    ),
    "var belongs to the function": ("javascript", "function f() { if (a) { var «x» = 1; } return «x»; }\n"),
    "shorthand properties": ("javascript", "const «x» = 1; const o = {«x», x: 2};\n"),
    "members of this": (
        "typescript",
        "class A { private «n»: number; constructor(n: number) { this.«n» = n; } f() { return this.«n» + o.n; } }\n",
    ),
    "private members": ("javascript", "class A { #«p» = 1; f(o) { return this.#«p» + p; } }\n"),
    "a type": ("typescript", "interface «I» { f: «I» }\nfunction g(x: «I»): «I»[] { return x.I; }\n"),
    "jsx": ("typescriptreact", "import «Foo» from 'x';\nconst a = <«Foo» b={«Foo».c}>Foo</«Foo»>;\n"),
    "destructuring parameters": ("typescript", "const f = ({k, l: «o»}: P) => ({k, o: «o»});\n"),
    "offsets are characters": ("python", "s = 'äöü🎉'\ndef f(«a»):\n    return 'ß', «a»\n"),
    "a parameter's annotation is outside": ("python", "from m import «T»\ndef f(T: «T») -> «T»: return T\n"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_name_is_resolved(case: str) -> None:
    language, marked = CASES[case]
    text = MARK.sub("", marked)
    marks = enumerate(MARK.finditer(marked))
    expected = [found.start() - before for before, found in marks if found.group() == "«"]
    name = marked[marked.index("«") + 1 : marked.index("»")]
    source = ParsedText.parse(text, language)
    assert source is not None
    names = Names.of(source, name)
    first = names.at(expected[0])
    assert first is not None
    assert [one.start for one in names.owned(first.owner)] == expected

"""What follows from an edit, best first. The edit is written as [[old -> new]] in the text.

What follows is checked on the whole text.
"""

import pytest
from marked_edits import NOT_CERTAIN, edited, results

from infill_engine.edits.find import find_consequences
from infill_engine.edits.types import Kind

FOLLOWS = {
    "a parameter, also where calls spell it": (
        Kind.RENAME,
        "python",
        "def f([[size -> width]], b):\n    return size + b.size\nf(size=1, b=size)\ng(size=2)\n",
        "def f(width, b):\n    return width + b.size\nf(width=1, b=size)\ng(size=2)\n",
    ),
    "a local": (
        Kind.RENAME,
        "python",
        "def f():\n    [[n -> count]] = 1\n    n += 1\n    return lambda: n\nn = 2\n",
        "def f():\n    count = 1\n    count += 1\n    return lambda: count\nn = 2\n",
    ),
    "a class, also quoted": (
        Kind.RENAME,
        "python",
        "class [[A -> Base]]:\n    def f(self) -> 'A': return A()\nclass B(A): pass\n",
        "class Base:\n    def f(self) -> 'Base': return Base()\nclass B(Base): pass\n",
    ),
    "an import alias": (
        Kind.RENAME,
        "python",
        "import numpy as [[np -> xp]]\nx = np.array(np.pi)\n",
        "import numpy as xp\nx = xp.array(xp.pi)\n",
    ),
    "an imported name": (
        Kind.RENAME,
        "python",
        "from m import a, [[load -> loads]]\nx = load(load)\n",
        "from m import a, loads\nx = loads(loads)\n",
    ),
    "an attribute": (
        Kind.RENAME,
        "python",
        "class A:\n    def __init__(self):\n        self.[[n -> count]] = 0\n    def f(self):\n        return self.n\n",
        "class A:\n    def __init__(self):\n        self.count = 0\n    def f(self):\n        return self.count\n",
    ),
    "a method": (
        Kind.RENAME,
        "python",
        "class A:\n    def [[go -> run]](self): pass\n    def f(self):\n        self.go()\n        A.go(self)\n",
        "class A:\n    def run(self): pass\n    def f(self):\n        self.run()\n        A.run(self)\n",
    ),
    "two uses renamed make a rename": (
        Kind.RENAME,
        "python",
        "def f(a):\n    x = [[a -> b]]\n    y = [[a -> b]]\n    return a\n",
        "def f(b):\n    x = b\n    y = b\n    return b\n",
    ),
    "a shorthand property keeps its key": (
        Kind.RENAME,
        "javascript",
        "function f([[a -> b]]) { return { a, c: a }; }\n",
        "function f(b) { return { a: b, c: b }; }\n",
    ),
    "an attribute that a pattern takes from this": (
        Kind.RENAME,
        "typescript",
        "class A { [[n -> count]] = 1; f() { const { n, m: k } = this; return n + this.n; } }\n",
        "class A { count = 1; f() { const { count: n, m: k } = this; return n + this.count; } }\n",
    ),
    "a property that the constructor declares": (
        Kind.RENAME,
        "typescript",
        "class A {\n  constructor(n: string);\n  constructor(private [[n -> count]]: number) { g(n); }\n"
        "  f() { return this.n; }\n}\n",
        "class A {\n  constructor(n: string);\n  constructor(private count: number) { g(count); }\n"
        "  f() { return this.count; }\n}\n",
    ),
    "a parameter removed": (
        Kind.SIGNATURE,
        "python",
        "def f(a[[, b -> ]], c=1):\n    return a\nf(1, 2, c=3)\nf(1,\n  b=2)\n",
        "def f(a, c=1):\n    return a\nf(1, c=3)\nf(1)\n",
    ),
    "the first parameter removed": (
        Kind.SIGNATURE,
        "python",
        "def f([[a,  -> ]]b):\n    return b\nf(1, (2, 3))\n",
        "def f(b):\n    return b\nf((2, 3))\n",
    ),
    "the only parameter removed": (
        Kind.SIGNATURE,
        "python",
        "class A:\n    def f(self[[, a -> ]]): pass\n    def g(self): return self.f(1)\n",
        "class A:\n    def f(self): pass\n    def g(self): return self.f()\n",
    ),
    "parameters reordered": (
        Kind.SIGNATURE,
        "python",
        "def f([[a, b -> b, a]]):\n    return a\nf(1, g(2, 3))\nf(b=1, a=2)\n",
        "def f(b, a):\n    return a\nf(g(2, 3), 1)\nf(b=1, a=2)\n",
    ),
    "a parameter added, of a name in sight": (
        Kind.SIGNATURE,
        "python",
        "def f(a[[ -> , b]]):\n    return a\ndef g(b):\n    return f(1)\n",
        "def f(a, b):\n    return a\ndef g(b):\n    return f(1, b)\n",
    ),
    "a parameter added, a member of that name": (
        Kind.SIGNATURE,
        "python",
        "class A:\n    def f(self, a, *[[ -> , b]]): pass\n    def g(self):\n        self.b = 1\n        self.f(\n"
        "            2,\n        )\n",
        "class A:\n    def f(self, a, *, b): pass\n    def g(self):\n        self.b = 1\n        self.f(\n"
        "            2,\n            b=self.b,\n        )\n",
    ),
    "a constructor's calls": (
        Kind.SIGNATURE,
        "python",
        "class A:\n    def __init__(self, a[[, b -> ]]): pass\n    @classmethod\n    def make(cls):\n"
        "        return cls(1, 2)\nA(3, b=4)\n",
        "class A:\n    def __init__(self, a): pass\n    @classmethod\n    def make(cls):\n"
        "        return cls(1)\nA(3)\n",
    ),
    "new, in TypeScript": (
        Kind.SIGNATURE,
        "typescript",
        "class A { constructor(a: number[[, b: string -> ]]) { super(a); } }\nconst x = new A(1, 'b');\n",
        "class A { constructor(a: number) { super(a); } }\nconst x = new A(1);\n",
    ),
    "a field of a data class": (
        Kind.SIGNATURE,
        "python",
        "@dataclass(frozen=True)\nclass A:\n    a: int\n[[ -> \n    size: int]]\n    b: ClassVar[int] = 1\n"
        "def f(size): return A(1)\n",
        "@dataclass(frozen=True)\nclass A:\n    a: int\n\n    size: int\n    b: ClassVar[int] = 1\n"
        "def f(size): return A(1, size)\n",
    ),
    "a field of a data class taken out": (
        Kind.SIGNATURE,
        "python",
        "@dataclass\nclass A:\n    a: int\n[[    b: int\n -> ]]    c: int = 1\nA(1, 2, 3)\nA(a=1, b=2)\n",
        "@dataclass\nclass A:\n    a: int\n    c: int = 1\nA(1, 3)\nA(a=1)\n",
    ),
    "a field for a new parameter": (
        Kind.FIELD,
        "python",
        "class A:\n    def __init__(self, a, b[[ -> , c]]):\n        self._a = a\n        self._b = b  # why\n"
        "        self.go()\n",
        "class A:\n    def __init__(self, a, b, c):\n        self._a = a\n        self._b = b  # why\n"
        "        self._c = c\n        self.go()\n",
    ),
    "a parameter for a new field": (
        Kind.FIELD,
        "python",
        "class A:\n    def __init__(self, a, b):\n        self.a = a\n[[ -> \n        self.c = c]]\n"
        "        self.b = b\n",
        "class A:\n    def __init__(self, a, c, b):\n        self.a = a\n\n        self.c = c\n        self.b = b\n",
    ),
    "a repeated literal": (
        Kind.LITERAL,
        "python",
        "def f(d):\n    d['[[colour -> color]]'] = 1\n    return d['colour'], 'colour me'\n",
        "def f(d):\n    d['color'] = 1\n    return d['color'], 'colour me'\n",
    ),
    "a repeated number": (
        Kind.LITERAL,
        "javascript",
        "wait(86[[4 -> 5]]00);\nwait(86400, 864001);\n",
        "wait(86500);\nwait(86500, 864001);\n",
    ),
    "a similar line": (
        Kind.SIMILAR_LINE,
        "python",
        "def f(self, width, height):\n    self.width = [[ -> abs(]]int(width)[[ -> )]]\n"
        "    self.height = int(height)\n",
        "def f(self, width, height):\n    self.width = abs(int(width))\n    self.height = abs(int(height))\n",
    ),
    "the mirrored branch": (
        Kind.SIMILAR_LINE,
        "javascript",
        "if (a) {\n  emit([[left - right -> right - left]], mode);\n} else {\n  emit(up - down, mode);\n}\n",
        "if (a) {\n  emit(right - left, mode);\n} else {\n  emit(down - up, mode);\n}\n",
    ),
}


@pytest.mark.parametrize("case", FOLLOWS)
def test_what_follows_is_proposed_first(case: str) -> None:
    kind, language, marked, expected = FOLLOWS[case]
    edit = edited(marked, language)
    found = find_consequences(edit)
    assert results(edit, found)[:1] == [expected]
    assert found.proposals[0].kind is kind


SILENT = {
    "a comment": "x = 1  # [[one -> two]] one\none = 2\n",
    "a comment at a line of a shape": "self.width = width[[ ->   # in pixels]]\nself.height = height\n",
    "formatting": "def f(a,[[ ->  ]]b):\n    return a\nf(1, 2)\n",
    "a new function": "def f(a):\n    return a\n[[ -> \n\ndef g(b):\n    return b\n]]\nf(1)\n",
    "a new line": "def f(a):\n[[ ->     log(a)\n]]    return a\n",
    "an optional parameter at the end": "def f(a[[ -> , b=1]]):\n    return a\nf(1)\n",
    "another variable is meant": "def f(a, b):\n    x = [[a -> b]]\n    return a\n",
    "a use of a name that is not there yet": "def f(a):\n    x = [[a -> c]]\n    return a\n",
    "the new name is taken": "def f(a, b):\n    [[x -> y]] = a\n    y = b\n    return x + y\n",
    "a new variable made of the old one": "def f(a):\n    a = g(1)\n    [[a -> b]] = h(a)\n    return a\n",
    "documentation": "def f():\n    '''Returns [[one -> two]].'''\n    return 'Returns one.'\n",
    "a common literal": "a = open(f, encoding='utf-[[8 -> 16]]')\nb = open(g, encoding='utf-8')\n",
    "a small number": "a = f(1[[ -> 0]])\nb = g(1)\n",
    "a renamed local nobody uses": "def f():\n    [[x -> y]] = 1\n",
    "a field of a class that is none of data": "class A:\n    a: int\n[[ ->     b: int\n]]A(1)\n",
    "a field of a data class with a base": "@dataclass\nclass A(B):\n    a: int\n[[ ->     b: int\n]]A(1)\n",
    "an attribute of another object": "class A:\n    def f(self, o):\n        o.[[n -> m]] = 1\n"
    "        return self.n\n",
    "another name in one of two lines of a shape": "def f(self, url, token, mode):\n"
    "    first = self.load([[url -> token]], mode)\n    second = self.load(url, mode)\n    return first, second\n",
    "only the unlike part of a line": "self.width = [[width -> w]]\nself.height = height\n",
}


@pytest.mark.parametrize("case", SILENT)
def test_an_edit_without_consequence_is_followed_by_silence(case: str) -> None:
    found = find_consequences(edited(SILENT[case]))
    assert found.proposals == ()
    assert found.reason in NOT_CERTAIN

"""Edits without consequences. Any proposal after one of them is a false alarm."""

import ast
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from bench.edits.case import Case, Module, Wanted, fresh_name
from infill_engine.edits.types import Change

# A section of a docstring that lists parameters.
_DOCUMENTS = re.compile(r"(?m)^\s*(?:Args|Arguments|Parameters)\s*:?\s*$|[:@]param\b")
Maker = Callable[[Module, random.Random, Sequence[str]], Change | None]


def harmless(module: Module, chance: random.Random, vocabulary: Sequence[str], wanted: Wanted) -> Iterator[Case]:
    """Yield at most one case of each kind."""
    for kind, maker in MAKERS.items():
        change = maker(module, chance, vocabulary) if wanted(kind) else None
        if change is None:
            continue
        case = Case(module.file, kind, module.text, (change,), None)
        try:
            ast.parse(case.after)
        except SyntaxError:
            continue
        yield wanted.made(case)


def _comment_changed(module: Module, chance: random.Random, vocabulary: Sequence[str]) -> Change | None:
    found = [
        m for m in re.finditer(r"(?m)^\s*#.*?\b([^\W\d]{4,})\b", module.text) if not _in_string(module, m.start(1))
    ]
    if not found:
        return None
    one = chance.choice(found)
    return Change(one.start(1), one.end(1), chance.choice(vocabulary))


def _comment_added(module: Module, chance: random.Random, vocabulary: Sequence[str]) -> Change | None:
    statement = _statement(module, chance)
    if statement is None:
        return None
    at, indent = statement
    return Change(at, at, f"{indent}# {' '.join(chance.sample(vocabulary, 5))}\n")


def _docstring_changed(module: Module, chance: random.Random, vocabulary: Sequence[str]) -> Change | None:
    documented = [
        node.body[0]
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node)
    ]
    if not documented:
        return None
    start, end = module.span(chance.choice(documented))
    words = [m for m in re.finditer(r"\b[^\W\d_]{4,}\b", module.text) if start + 3 < m.start() < m.end() < end - 3]
    if not words:
        return None
    one = chance.choice(words)
    return Change(one.start(), one.end(), chance.choice(vocabulary))


def _blank_line(module: Module, chance: random.Random, _vocabulary: Sequence[str]) -> Change | None:
    statement = _statement(module, chance)
    return None if statement is None else Change(statement[0], statement[0], "\n")


def _spaces(module: Module, chance: random.Random, _vocabulary: Sequence[str]) -> Change | None:
    found = [
        m for m in re.finditer(r"(?<=\w)( ?)(==|[+*/-]|=)( ?)(?=\w)", module.text) if not _in_string(module, m.start())
    ]
    if not found:
        return None
    one = chance.choice(found)
    spaced = one[2] if one[1] else f" {one[2]} "
    return Change(one.start(), one.end(), spaced)


def _line_broken(module: Module, chance: random.Random, _vocabulary: Sequence[str]) -> Change | None:
    calls = [
        n for n in ast.walk(module.tree) if isinstance(n, ast.Call) and len(n.args) > 1 and n.lineno == n.end_lineno
    ]
    if not calls:
        return None
    call = chance.choice(calls)
    start, end = module.span(call.args[0])[1], module.span(call.args[1])[0]
    return Change(start, end, ",\n" + " " * (call.col_offset + 4)) if module.text[start:end] == ", " else None


def _function_added(module: Module, chance: random.Random, vocabulary: Sequence[str]) -> Change | None:
    at = _outermost(module, chance)
    names = [fresh_name(chance, module, vocabulary, "name") for _ in range(3)]
    if at is None or None in names or len(set(names)) < 3:
        return None
    name, one, other = names
    return Change(at, at, f"def {name}({one}, {other}):\n    if {one}:\n        return {other}\n    return None\n\n\n")


def _statement_added(module: Module, chance: random.Random, vocabulary: Sequence[str]) -> Change | None:
    statement, name = _statement(module, chance), fresh_name(chance, module, vocabulary, "name")
    if statement is None or name is None:
        return None
    at, indent = statement
    text = chance.choice((f"{name} = []", f"{name} = {chance.randint(2, 9)} * 60", f"print('{name}')"))
    return Change(at, at, f"{indent}{text}\n")


def _import_added(module: Module, chance: random.Random, vocabulary: Sequence[str]) -> Change | None:
    imports = [node for node in module.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    name = fresh_name(chance, module, vocabulary, "name")
    if not imports or name is None:
        return None
    at = module.span(chance.choice(imports))[0]
    return Change(at, at, f"import {name}\n") if module.text[at - 1 : at] in ("\n", "") else None


def _optional_parameter(module: Module, chance: random.Random, vocabulary: Sequence[str]) -> Change | None:
    functions = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef)
        and node.name != "__init__"
        and node.args.args
        and not (node.args.vararg or node.args.kwarg or node.args.kwonlyargs)
        and not _DOCUMENTS.search(ast.get_docstring(node) or "")  # a new parameter belongs there, too
    ]
    name = fresh_name(chance, module, vocabulary, "name")
    if not functions or name is None:
        return None
    arguments = chance.choice(functions).args
    last: ast.AST = arguments.args[-1] if not arguments.defaults else arguments.defaults[-1]
    at = module.span(last)[1]
    return Change(at, at, f", {name}=None")


def _message_changed(module: Module, chance: random.Random, vocabulary: Sequence[str]) -> Change | None:
    strings = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"[\w ,.]{12,}", node.value)
        and module.text.count(node.value) == 1
    ]
    if not strings:
        return None
    node = chance.choice(strings)
    assert isinstance(node.value, str)
    words = list(re.finditer(r"\b[^\W\d_]{4,}\b", node.value))
    if not words:
        return None
    at = module.text.index(node.value)
    one = chance.choice(words)
    return Change(at + one.start(), at + one.end(), chance.choice(vocabulary))


def _other_variable(module: Module, chance: random.Random, _vocabulary: Sequence[str]) -> Change | None:
    functions = [
        node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef) and len(node.args.args) > 2
    ]
    if not functions:
        return None
    function = chance.choice(functions)
    names = [parameter.arg for parameter in function.args.args if parameter.arg not in ("self", "cls")]
    uses = [
        use
        for statement in function.body
        for use in ast.walk(statement)
        if isinstance(use, ast.Name) and isinstance(use.ctx, ast.Load) and use.id in names
    ]
    if len(names) < 2 or not uses:
        return None
    use = chance.choice(uses)
    start, end = module.span(use)
    other = chance.choice([name for name in names if name != use.id])
    return Change(start, end, other) if module.text[start:end] == use.id else None


def _statement_removed(module: Module, chance: random.Random, _vocabulary: Sequence[str]) -> Change | None:
    statements = [
        node
        for function in ast.walk(module.tree)
        if isinstance(function, ast.FunctionDef) and len(function.body) > 2
        for node in function.body[1:]
        if isinstance(node, ast.Expr) and node.lineno == node.end_lineno and isinstance(node.value, ast.Call)
    ]
    everywhere = _read(module.tree)  # without its last use, a name should go, too
    statements = [node for node in statements if all(everywhere[name] > n for name, n in _read(node).items())]
    if not statements:
        return None
    start, end = module.span(chance.choice(statements))
    first = module.text.rfind("\n", 0, start) + 1
    return Change(first, module.text.find("\n", end) + 1, "") if not module.text[first:start].strip() else None


def _read(tree: ast.AST) -> Counter[str]:
    return Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def _statement(module: Module, chance: random.Random) -> tuple[int, str] | None:
    """Return the line start and indentation of a statement inside a function."""
    bodies = [node.body for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef) and len(node.body) > 1]
    if not bodies:
        return None
    start, _ = module.span(chance.choice(chance.choice(bodies)[1:]))
    first = module.text.rfind("\n", 0, start) + 1
    indent = module.text[first:start]
    return None if indent.strip() else (first, indent)


def _outermost(module: Module, chance: random.Random) -> int | None:
    places = [
        module.span(node)[0]
        for node in module.tree.body
        if isinstance(node, ast.FunctionDef) and not node.decorator_list
    ]
    return chance.choice(places) if places else None


def _in_string(module: Module, at: int) -> bool:
    return any(start <= at < end for start, end in module.strings)


MAKERS: dict[str, Maker] = {
    "comment changed": _comment_changed,
    "comment added": _comment_added,
    "docstring changed": _docstring_changed,
    "blank line": _blank_line,
    "spaces": _spaces,
    "line broken": _line_broken,
    "function added": _function_added,
    "statement added": _statement_added,
    "import added": _import_added,
    "optional parameter": _optional_parameter,
    "message changed": _message_changed,
    "other variable": _other_variable,
    "statement removed": _statement_removed,
}

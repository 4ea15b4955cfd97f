"""Cases of constructor fields, of literals used twice, and of operands swapped in one of two similar branches."""

import ast
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from bench.edits.case import Case, Module, fresh_name
from infill_engine.edits.changes import make
from infill_engine.edits.types import Change

LEAST_LITERAL = 4  # characters


def fields(module: Module) -> Iterator[Case]:
    """Add a constructor parameter and expect its assignment, or add the assignment and expect the parameter."""
    called = {
        node.func.id for node in ast.walk(module.tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    for holder in ast.walk(module.tree):
        if not isinstance(holder, ast.ClassDef) or holder.name in called:
            continue
        maker = next((node for node in holder.body if getattr(node, "name", "") == "__init__"), None)
        if (
            not isinstance(maker, ast.FunctionDef)
            or maker.args.posonlyargs
            or maker.args.vararg
            or maker.args.kwonlyargs
        ):
            continue
        kept = [node for node in maker.body if _keeps(node, [p.arg for p in maker.args.args])]
        if len(kept) < 3:
            continue
        node = kept[len(kept) // 2]
        assert isinstance(node, ast.Assign | ast.AnnAssign)
        assert isinstance(node.value, ast.Name)
        name = node.value.id
        start, end = module.span(node)
        line = Change(module.text.rfind("\n", 0, start) + 1, module.text.find("\n", end) + 1, "")
        uses = [n for n in ast.walk(maker) if isinstance(n, ast.Name) and n.id == name]
        index = [p.arg for p in maker.args.args].index(name)
        parameter = maker.args.args[index]
        first = index - (len(maker.args.args) - len(maker.args.defaults))
        stop = module.span(maker.args.defaults[first])[1] if first >= 0 else module.span(parameter)[1]
        begin = module.span(maker.args.args[index - 1])[1]
        if first > 0:
            begin = module.span(maker.args.defaults[first - 1])[1]
        if len(uses) != 1 or "#" in module.text[begin:stop]:
            continue
        written = Change(begin, stop, "")
        yield from _field_cases(module, written, line, name, plain=first < 0 and parameter.annotation is None)


def _field_cases(module: Module, written: Change, line: Change, name: str, *, plain: bool) -> Iterator[Case]:
    text = module.text
    for kind, edit, other in (("field for a parameter", written, line), ("parameter for a field", line, written)):
        if kind == "parameter for a field" and (not plain or re.search(rf"\b{name}\b", make(text, (written, line)))):
            continue
        before = make(text, (written, line))
        shift = -(written.end - written.start) if edit.start > written.start else 0
        at = edit.start + shift
        made = (Change(at, at, text[edit.start : edit.end]),)
        del other
        case = _checked(Case(module.file, kind, before, made, text))
        if case is not None:
            yield case


def _keeps(node: ast.stmt, parameters: Sequence[str]) -> bool:
    """Return whether a statement is `self.name = name` for a parameter."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Name):
        return False
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if isinstance(node, ast.Assign) and len(node.targets) != 1:
        return False
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name) or target.value.id != "self":
        return False
    return target.attr.lstrip("_") == node.value.id and node.value.id in parameters and node.lineno == node.end_lineno


def literals(module: Module, chance: random.Random, vocabulary: Sequence[str]) -> Iterator[Case]:
    """Change a string used exactly twice, within one function or class, that is part of no other word in the file."""
    for function in module.tree.body:
        strings = [n for n in ast.walk(function) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        plain = {
            n.value for n in strings if isinstance(n.value, str) and re.fullmatch(r"[\w./-]+( [\w./-]+)*", n.value)
        }
        counts = Counter(n.value for n in strings)
        parts: list[ast.AST] = [n.value for n in ast.walk(function) if isinstance(n, ast.Expr)]
        parts += [n for joined in ast.walk(function) if isinstance(joined, ast.JoinedStr) for n in ast.walk(joined)]
        for value in sorted(plain):
            if counts[value] != 2 or len(value) < LEAST_LITERAL or module.text.count(value) != 2:
                continue
            nodes = [n for n in strings if n.value == value and n not in parts]
            word = re.findall(r"[^\W\d_]{3,}", value)
            if len(nodes) != 2 or not word:
                continue
            new = fresh_name(chance, module, vocabulary, "word")
            if new is None:
                continue
            places = sorted(module.text.index(value, module.span(node)[0]) for node in nodes)
            changes = tuple(
                Change(at + value.index(word[0]), at + value.index(word[0]) + len(word[0]), new) for at in places
            )
            case = _checked(
                Case(module.file, "literal used twice", module.text, changes[:1], make(module.text, changes))
            )
            if case is not None:
                yield case


def mirrored(module: Module) -> Iterator[Case]:
    """Swap operands in one branch of an `if` whose other branch has one statement of the same shape."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.If) or not node.orelse or isinstance(node.orelse[0], ast.If):
            continue
        for statement in node.body:
            alike = [other for other in node.orelse if _shape(other) == _shape(statement)]
            beside = [other for other in node.body if _shape(other) == _shape(statement)]
            if len(alike) != 1 or len(beside) != 1 or not _on_one_line(statement) or not _on_one_line(alike[0]):
                continue
            pairs = list(zip(_pairs(statement), _pairs(alike[0]), strict=True))
            for one, other in pairs[:1]:
                edit = _swap(module, *one)
                more = _swap(module, *other)
                if edit is None or more is None:
                    continue
                expected = make(module.text, sorted((edit, more)))
                case = _checked(Case(module.file, "mirrored branch", module.text, (edit,), expected))
                if case is not None:
                    yield case


def _pairs(node: ast.stmt) -> list[tuple[ast.expr, ast.expr]]:
    """Return pairs of adjacent operands or arguments."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.BinOp):
            found.append((inner.left, inner.right))
        elif isinstance(inner, ast.Call) and len(inner.args) >= 2:
            found.append((inner.args[0], inner.args[1]))
        elif isinstance(inner, ast.Tuple) and len(inner.elts) >= 2:
            found.append((inner.elts[0], inner.elts[1]))
    return found


def _swap(module: Module, one: ast.expr, other: ast.expr) -> Change | None:
    (start, end), (later, last) = module.span(one), module.span(other)
    text = module.text
    if text[start:end] == text[later:last]:
        return None
    return Change(start, last, text[later:last] + text[end:later] + text[start:end])


def _shape(node: ast.AST) -> str:
    """Return a statement's tree without names and numbers."""
    text = ast.dump(node)
    return re.sub(r"(id|attr|arg)='\w+'|value=\d+", r"\1", text)


def _on_one_line(node: ast.stmt) -> bool:
    return node.lineno == node.end_lineno


def _checked(case: Case) -> Case | None:
    for text in (case.before, case.after, case.expected or ""):
        try:
            ast.parse(text)
        except SyntaxError:
            return None
    return None if case.expected == case.after else case

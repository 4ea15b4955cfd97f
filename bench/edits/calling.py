"""Cases in which a definition's parameter is added, removed or moved. The consequence is an edit of every call."""

import ast
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from bench.edits.case import Case, Module, Wanted
from infill_engine.edits.changes import make
from infill_engine.edits.types import Change

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class _Called:
    """A function and all its calls, none of which unpacks arguments. `bound` is 1 if calls omit the first parameter."""

    function: Function
    calls: tuple[ast.Call, ...]
    bound: int


def signature_changes(module: Module, chance: random.Random, wanted: Wanted) -> Iterator[Case]:
    """Yield at most one case of each kind per function."""
    found = list(_called(module))
    chance.shuffle(found)
    for called in found:
        parameters = called.function.args.args[called.bound :]
        if called.function.args.posonlyargs or not parameters:
            continue
        for kind, maker in MAKERS.items():
            if not wanted(kind):
                continue
            order = list(range(len(parameters)))
            chance.shuffle(order)
            case = next((case for at in order if (case := maker(module, called, at)) is not None), None)
            if case is not None:
                yield wanted.made(case)


def _called(module: Module) -> Iterator[_Called]:
    uses: dict[str, list[ast.AST]] = {}
    parent = {child: node for node in ast.walk(module.tree) for child in ast.iter_child_nodes(node)}
    defined: dict[str, int] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name):
            uses.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.Attribute):
            uses.setdefault("." + node.attr, []).append(node)
        name = getattr(node, "name", None) or getattr(node, "arg", None) or getattr(node, "asname", None)
        if isinstance(name, str):
            defined[name] = defined.get(name, 0) + 1
    for node in module.tree.body:
        if isinstance(node, Function) and not node.decorator_list and defined.get(node.name) == 1:
            calls = _all_calls(uses.get(node.name, []), parent)
            if calls and "." + node.name not in uses:
                yield _Called(node, calls, 0)
        if not isinstance(node, ast.ClassDef):
            continue
        for inner in node.body:
            if not isinstance(inner, Function) or inner.decorator_list or defined.get(inner.name) != 1:
                continue
            lookups = uses.get("." + inner.name, [])
            own = all(isinstance(at, ast.Attribute) and _is_self(at) and _inside(at, node) for at in lookups)
            calls = _all_calls(lookups, parent)
            if calls and own and not inner.name.startswith("__") and inner.args.args[:1]:
                yield _Called(inner, calls, 1)


def _all_calls(uses: list[ast.AST], parent: dict[ast.AST, ast.AST]) -> tuple[ast.Call, ...]:
    """Return the calls if the function is only ever called, and only with plain arguments."""
    calls = []
    for use in uses:
        call = parent.get(use)
        if not isinstance(call, ast.Call) or call.func is not use:
            return ()
        if any(isinstance(arg, ast.Starred) for arg in call.args) or any(word.arg is None for word in call.keywords):
            return ()
        calls.append(call)
    return tuple(calls) if len(calls) <= 20 else ()


def _removed(module: Module, called: _Called, at: int) -> Case | None:
    """Remove the parameter. The consequence removes its arguments."""
    without = _without_parameter(module, called, at)
    calls = _calls_without(module, called, at)
    if not calls:
        return None
    expected = make(module.text, sorted((without, *calls)))
    return _case(module, "parameter removed", module.text, (without,), expected)


def _added(module: Module, called: _Called, at: int) -> Case | None:
    """Start without a parameter that every call passes. The edit adds it."""
    without = _without_parameter(module, called, at)
    calls = _calls_without(module, called, at)
    optional = at >= len(called.function.args.args) - called.bound - len(called.function.args.defaults)
    if optional or len(calls) != len(called.calls):
        return None
    gone = sorted((without, *calls))
    before = make(module.text, gone)
    start = without.start + sum(change.growth for change in gone if change.start < without.start)
    written = module.text[without.start : without.end]
    edit = (Change(start, start, written),)
    return _case(module, "parameter added", before, edit, module.text)


def _moved(module: Module, called: _Called, at: int) -> Case | None:
    """Swap two adjacent parameters. The consequence swaps the positional arguments."""
    parameters = called.function.args.args[called.bound :]
    required = len(parameters) - len(called.function.args.defaults)
    if at + 1 >= required:
        return None
    pair = parameters[at : at + 2]
    changes = []
    for call in called.calls:
        if len(call.args) == at + 1:
            return None  # one of the two is positional, the other a keyword
        if len(call.args) > at + 1:
            changes += _swapped(module, call.args[at], call.args[at + 1])
    edit = _swapped(module, *pair)
    if not changes:
        return None
    return _case(module, "parameter moved", module.text, tuple(edit), make(module.text, sorted((*edit, *changes))))


def _swapped(module: Module, one: ast.AST, other: ast.AST) -> list[Change]:
    (start, end), (later, last) = module.span(one), module.span(other)
    text = module.text
    return [Change(start, end, text[later:last]), Change(later, last, text[start:end])]


def _without_parameter(module: Module, called: _Called, at: int) -> Change:
    parameters = called.function.args.args
    defaults = called.function.args.defaults
    index = at + called.bound
    node = parameters[index]
    start, end = module.span(node)
    default = index - (len(parameters) - len(defaults))
    if default >= 0:
        end = module.span(defaults[default])[1]
    return _cut(module.text, start, end)


def _calls_without(module: Module, called: _Called, at: int) -> list[Change]:
    """Return the changes that remove a parameter's argument from every call that passes it."""
    name = called.function.args.args[at + called.bound].arg
    found = []
    for call in called.calls:
        node: ast.AST | None = call.args[at] if at < len(call.args) else None
        node = node or next((word for word in call.keywords if word.arg == name), None)
        if node is not None:
            start, end = module.span(node)
            while (
                module.text[start - 1] == "("
                and module.text[end : end + 1] == ")"
                and not _opens_call(module, call, start)
            ):
                start, end = start - 1, end + 1
            cut = _cut(module.text, start, end)
            found.append(cut)
    return found


def _opens_call(module: Module, call: ast.Call, start: int) -> bool:
    return module.text[module.span(call.func)[1] : start].strip() == "("


def _cut(text: str, start: int, end: int) -> Change:
    """Return the change that removes a list item and one adjacent comma."""
    after = re.compile(r"\s*,[ \t]*\n?[ \t]*").match(text, end)
    before = re.compile(r",\s*\Z").search(text[max(0, start - 200) : start])
    if after is not None and text[after.end() : after.end() + 1] not in ")":
        return Change(start, after.end(), "")
    if before is not None:
        return Change(max(0, start - 200) + before.start(), end, "")
    return Change(start, after.end() if after is not None else end, "")


def _case(module: Module, kind: str, before: str, edit: tuple[Change, ...], expected: str) -> Case | None:
    for text in (before, make(before, edit), expected):
        try:
            ast.parse(text)
        except SyntaxError:
            return None
    return Case(module.file, kind, before, edit, expected)


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _inside(node: ast.Attribute, holder: ast.ClassDef) -> bool:
    return holder.lineno <= node.lineno <= (holder.end_lineno or 0)


MAKERS = {"parameter removed": _removed, "parameter added": _added, "parameter moved": _moved}

"""Cases in which a name is changed where it is first bound. The consequence is a change of every other occurrence."""

import ast
import random
from collections.abc import Iterator, Sequence

from bench.edits.case import MOST_OCCURRENCES, Case, Module, Wanted, fresh_name
from bench.edits.scoping import Variable, variables
from infill_engine.edits.changes import make
from infill_engine.edits.types import Change

KINDS = {
    ("function", "variable"): "rename local",
    ("function", "parameter"): "rename parameter",
    ("module", "function"): "rename function",
    ("module", "class"): "rename class",
    ("module", "import"): "rename import",
}


def renames(module: Module, chance: random.Random, vocabulary: Sequence[str], wanted: Wanted) -> Iterator[Case]:
    """Yield the cases of a file."""
    found = variables(module)
    chance.shuffle(found)
    for variable in found:
        kind = KINDS.get((variable.scope, variable.kind))
        if kind is None or not wanted(kind) or not 2 <= len(variable.starts) <= MOST_OCCURRENCES:
            continue
        if variable.name in ("self", "cls") or variable.first != min(variable.starts):
            continue
        starts = set(variable.starts)
        if variable.kind == "parameter":
            spelled = _spelled(module, variable)
            if spelled is None:
                continue
            starts |= spelled
        new = fresh_name(chance, module, vocabulary, variable.name)
        another = kind == "rename import" and _is_module(module, variable)
        if new is not None and not another:
            yield wanted.made(_case(module, kind, variable.name, new, variable.first, sorted(starts)))
    yield from _members(module, chance, vocabulary, wanted)


def _is_module(module: Module, variable: Variable) -> bool:
    """Return whether a name is that of a module in a statement `import module`: any other one is another module."""
    line = module.text[module.text.rfind("\n", 0, variable.first) + 1 : variable.first]
    return line.split()[:1] == ["import"] and line.split()[-1] != "as"


def _case(module: Module, kind: str, old: str, new: str, first: int, starts: Sequence[int]) -> Case:
    changes = tuple(Change(start, start + len(old), new) for start in starts)
    edit = tuple(change for change in changes if change.start == first)
    return Case(module.file, kind, module.text, edit, make(module.text, changes))


def _spelled(module: Module, parameter: Variable) -> set[int] | None:
    """Return where calls pass a parameter by keyword; None if that cannot be determined."""
    keywords = [
        (node, word)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg == parameter.name
    ]
    if not keywords:
        return set()
    function, holder = _function_of(module, parameter.first)
    if function is None:
        return None
    found = set()
    for call, word in keywords:
        callee = call.func
        if isinstance(callee, ast.Name):
            called = callee.id
            own = holder.name if holder is not None and function.name == "__init__" else function.name
            if holder is not None and function.name != "__init__":
                own = ""
            if called == "cls":
                return None
            if called == own:
                found.add(module.span(word)[0])
        elif isinstance(callee, ast.Attribute) and callee.attr in (function.name, "__init__"):
            return None  # resolving the method would need types
    return found


def _function_of(
    module: Module, start: int
) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef | None, ast.ClassDef | None]:
    """Return the function with a parameter at this offset, and its class.

    Only functions at module level and methods of module-level classes are found.
    """
    for node in module.tree.body:
        holder = node if isinstance(node, ast.ClassDef) else None
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                parameters = (*inner.args.posonlyargs, *inner.args.args, *inner.args.kwonlyargs)
                if any(module.span(parameter)[0] == start for parameter in parameters):
                    return inner, holder
    return None, None


def _members(module: Module, chance: random.Random, vocabulary: Sequence[str], wanted: Wanted) -> Iterator[Case]:
    """Rename attributes and methods accessed only through `self`, in classes without subclasses in the file."""
    classes = [node for node in module.tree.body if isinstance(node, ast.ClassDef)]
    names = {node.name for node in classes}
    related = {base.id for node in classes for base in node.bases if isinstance(base, ast.Name) and base.id in names}
    lookups = [node for node in ast.walk(module.tree) if isinstance(node, ast.Attribute)]
    for node in classes:
        bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
        if node.name in related or bases & names:
            continue
        start, end = module.span(node)
        own = [at for at in lookups if _is_self(at) and start <= module.span(at)[0] < end]
        methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef) and not m.decorator_list}
        other = {t.id for s in node.body for t in ast.walk(s) if isinstance(t, ast.Name) and s not in methods.values()}
        for name in sorted({at.attr for at in own}):
            here = [at for at in own if at.attr == name]
            if name.startswith("__") or name in other or sum(at.attr == name for at in lookups) != len(here):
                continue
            places = [module.span(at)[1] - len(name) for at in here]
            if name in methods:
                first = module.text.index(name, module.span(methods[name])[0] + 4)
                kind = "rename method"
            elif isinstance(here[0].ctx, ast.Store) and len(here) > 1:
                first, kind = min(places), "rename attribute"
                if first != places[0]:
                    continue
            else:
                continue
            if sum(isinstance(s, ast.FunctionDef) and s.name == name for s in node.body) > 1:
                continue
            new = fresh_name(chance, module, vocabulary, name)
            if new is not None and len(places) < MOST_OCCURRENCES and wanted(kind):
                yield wanted.made(_case(module, kind, name, new, first, sorted({first, *places})))


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"

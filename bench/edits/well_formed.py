"""What is wrong with a program, as tools say that share nothing with next edits: CPython and TypeScript's service."""

import ast
import builtins
import json
import subprocess
import symtable
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

SERVICE = Path(__file__).with_name("diagnostics.mjs")
KNOWN = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__package__", "__path__", "__class__"}

Faults = Counter[str]


def python_faults(text: str) -> Faults:
    """Return the names that nothing defines, the attributes of `self` that no class sets, and arguments that no
    function of the file takes; a syntax error alone if there is one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            compile(tree, "text", "exec")
            table = symtable.symtable(text, "text", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return Counter({"syntax": 1})
    return Counter([*_undefined(table), *_unset(tree), *_unknown_arguments(tree)])


def typescript_faults(programs: Sequence[tuple[str, Sequence[str]]], typescript: Path) -> Iterator[list[Faults]]:
    """Yield the errors of each program's texts: its path says the dialect. `typescript` is the package's folder."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as listed:
        json.dump([{"path": path, "texts": texts} for path, texts in programs], listed)
        listed.flush()
        command = ["node", str(SERVICE), str(typescript.resolve()), listed.name]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in ran.stdout.splitlines():
        yield [Counter(errors) for errors in json.loads(line)]


def _undefined(top: symtable.SymbolTable) -> Iterator[str]:
    tables = [top]
    for table in tables:
        tables += table.get_children()
    known = set(KNOWN)
    for table in tables:
        for one in table.get_symbols():
            if (table is top or one.is_declared_global()) and (one.is_assigned() or one.is_imported()):
                known.add(one.get_name())
    for table in tables:
        for one in table.get_symbols():
            name = one.get_name()
            if one.is_referenced() and name not in known and (one.is_global() or table is top):
                yield f"undefined {name}"
            elif table is not top and one.is_referenced() and one.is_local() and not _is_bound(one):
                yield f"unbound {name}"


def _is_bound(one: symtable.Symbol) -> bool:
    return one.is_assigned() or one.is_parameter() or one.is_imported() or one.is_namespace()


def _unset(tree: ast.Module) -> Iterator[str]:
    """Yield attributes that methods read from `self` and that no class of the file defines or sets anywhere."""
    made = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    for holder in ast.walk(tree):
        if isinstance(holder, ast.ClassDef):
            for node in ast.walk(holder):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    made.add(node.name)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    made.add(node.id)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            continue
        if node.value.id in ("self", "cls") and isinstance(node.ctx, ast.Load) and node.attr not in made:
            yield f"unset {node.attr}"


def _unknown_arguments(tree: ast.Module) -> Iterator[str]:
    """Yield calls of the file's functions and classes that do not fit their only definition."""
    defined: dict[str, list[ast.arguments | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorated = bool(node.decorator_list)
            defined.setdefault(node.name, []).append(None if decorated or node not in tree.body else node.args)
        elif isinstance(node, ast.ClassDef):
            makers = [each for each in node.body if getattr(each, "name", "") == "__init__"]
            plain = len(makers) == 1 and not node.keywords and not node.decorator_list and node in tree.body
            maker = makers[0] if plain else None
            defined.setdefault(node.name, []).append(maker.args if isinstance(maker, ast.FunctionDef) else None)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.setdefault(node.id, []).append(None)
        elif isinstance(node, ast.arg):
            defined.setdefault(node.arg, []).append(None)
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found = defined.get(node.func.id, [])
            taken = found[0] if len(found) == 1 else None
            if taken is not None and not _fits(node, taken, implicit=node.func.id in classes):
                yield f"arguments {node.func.id}"


def _fits(call: ast.Call, taken: ast.arguments, *, implicit: bool) -> bool:
    positional = [*taken.posonlyargs, *taken.args][int(implicit) :]
    names = {one.arg for one in (*positional, *taken.kwonlyargs)}
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        return True
    if len(call.args) > len(positional) and taken.vararg is None:
        return False
    if taken.kwarg is None and any(one.arg not in names for one in call.keywords):
        return False
    passed = {one.arg for one in positional[: len(call.args)]} | {one.arg for one in call.keywords}
    needed = positional[: max(0, len(positional) - len(taken.defaults))]
    return all(one.arg in passed for one in needed)

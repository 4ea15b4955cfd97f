"""Resolves the names of a Python file with CPython's own symbol table. This is the reference for renames.

It shares nothing with `infill_engine.edits`, which resolves names with a tree-sitter query.
"""

import ast
import re
import symtable
from collections import defaultdict
from dataclasses import dataclass

from bench.edits.case import Module

_COMPREHENSIONS = {
    ast.ListComp: "listcomp",
    ast.SetComp: "setcomp",
    ast.DictComp: "dictcomp",
    ast.GeneratorExp: "genexpr",
}


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in a scope, all its occurrences in the file, and the first one that binds it."""

    name: str
    scope: str  # "module", "function" or "class"
    kind: str  # kind of the first binding: "parameter", "function", "class", "import", "variable"
    first: int
    starts: tuple[int, ...]


class _UnsureError(Exception):
    """An occurrence cannot be located reliably, as in f-strings before Python 3.12."""


@dataclass(frozen=True, slots=True)
class _Use:
    start: int
    name: str
    table: symtable.SymbolTable
    kind: str  # "" for a use that is not a binding


def variables(module: Module) -> list[Variable]:
    """Return all variables whose occurrences are all certain."""
    walk = _Walk(module)
    walk.run()
    places: dict[tuple[int, str], list[_Use]] = defaultdict(list)
    tables = {}
    for use in walk.uses:
        owner = _owner(use, walk.parents)
        if owner is not None:
            places[owner.get_id(), use.name].append(use)
            tables[owner.get_id()] = owner
    found = []
    for (owner_id, name), uses in places.items():
        binding = sorted((use for use in uses if use.kind), key=lambda use: use.start)
        if binding and name not in walk.unsure and not name.startswith("__"):
            starts = tuple(sorted({use.start for use in uses}))
            found.append(Variable(name, tables[owner_id].get_type(), binding[0].kind, binding[0].start, starts))
    return found


def _owner(use: _Use, parents: dict[int, symtable.SymbolTable | None]) -> symtable.SymbolTable | None:
    """Return the scope that a name belongs to; None for builtins."""
    table: symtable.SymbolTable | None = use.table
    assert table is not None
    try:
        symbol = table.lookup(use.name)
    except KeyError:  # annotations that are never evaluated are missing from the table
        above = parents[table.get_id()]
        while above is not None and not (above.get_type() != "class" and _is_bound(above, use.name)):
            above = parents[above.get_id()]
        return above
    if symbol.is_global() or table.get_type() == "module":
        while table is not None and table.get_type() != "module":
            table = parents[table.get_id()]
        return table if table is not None and _is_bound(table, use.name) else None
    if symbol.is_local():
        return table
    while table is not None:
        table = parents[table.get_id()]
        if table is not None and table.get_type() == "function" and _is_bound(table, use.name):
            return table
    return None


def _is_bound(table: symtable.SymbolTable, name: str) -> bool:
    try:
        symbol = table.lookup(name)
    except KeyError:
        return False
    return symbol.is_local() or (table.get_type() == "module" and (symbol.is_assigned() or symbol.is_imported()))


class _Walk(ast.NodeVisitor):
    """Walks the tree and the symbol table in parallel and records each occurrence of a name."""

    def __init__(self, module: Module) -> None:
        self.module, self.text = module, module.text
        top = symtable.symtable(module.text, "file", "exec")
        self.table: symtable.SymbolTable = top
        self.parents: dict[int, symtable.SymbolTable | None] = {top.get_id(): None}
        self.waiting = {top.get_id(): list(top.get_children())}
        self.uses: list[_Use] = []
        self.unsure: set[str] = set()

    def run(self) -> None:
        """Visit the whole file."""
        self.visit(self.module.tree)

    def note(self, start: int, name: str, kind: str) -> None:
        """Record one occurrence of a name. `kind` is "" for a use."""
        if self.text[start : start + len(name)] != name:
            self.unsure.add(name)
        self.uses.append(_Use(start, name, self.table, kind))

    def inside(self, kind: str, name: str, row: int, visit: "list[ast.AST | None]", parameters: list[ast.arg]) -> None:
        """Visit nodes in the scope that begins at a line."""
        outer = self.table
        children = self.waiting[outer.get_id()]
        at = next(
            i for i, t in enumerate(children) if t.get_name() == name and t.get_lineno() == row and kind == t.get_type()
        )
        self.table = children.pop(at)
        self.parents[self.table.get_id()] = outer
        self.waiting[self.table.get_id()] = list(self.table.get_children())
        for parameter in parameters:
            self.note(self.module.span(parameter)[0], parameter.arg, "parameter")
        for node in visit:
            if node is not None:
                self.visit(node)
        self.table = outer

    def word(self, name: str, start: int, end: int) -> int:
        """Return the offset of a name within a span of the text."""
        found = re.compile(rf"\b{re.escape(name)}\b").search(self.text, start, end)
        if found is None:
            raise _UnsureError
        return found.start()

    def visit_Name(self, node: ast.Name) -> None:
        self.note(self.module.span(node)[0], node.id, "" if isinstance(node.ctx, ast.Load | ast.Del) else "variable")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        start, end = self.module.span(node)
        names = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name)]
        if any(isinstance(inner, ast.Lambda | ast.NamedExpr | ast.comprehension) for inner in ast.walk(node)):
            self.unsure |= {inner.id for inner in names}
            self.generic_visit(node)
            return
        for name in {inner.id for inner in names}:
            places = [found.start() for found in re.finditer(rf"(?<![\w.])\b{name}\b(?!=)", self.text[start:end])]
            if len(places) != sum(inner.id == name for inner in names):
                self.unsure.add(name)
            for place in places:
                self.note(start + place, name, "")

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        start, _ = self.module.span(node)
        self.note(self.word(node.name, start + 4, start + 400), node.name, "function")
        parameters = _parameters(node.args)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        for annotation in (*(p.annotation for p in parameters), node.returns):
            if annotation is not None:
                self.annotated(annotation)
        self.inside("function", node.name, node.lineno, list(node.body), parameters)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self.inside("function", "lambda", node.lineno, [node.body], _parameters(node.args))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        start, _ = self.module.span(node)
        self.note(self.word(node.name, start + 5, start + 400), node.name, "class")
        for base in (*node.bases, *node.keywords):
            self.visit(base)
        self.inside("class", node.name, node.lineno, list(node.body), [])

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        """Visit a comprehension. Everything except the first iterable is in a scope of its own."""
        first, *others = node.generators
        self.visit(first.iter)
        results: list[ast.AST | None] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        visit: list[ast.AST | None] = [first.target, *first.ifs]
        for clause in others:
            visit += [clause.target, clause.iter, *clause.ifs]
        self.inside("function", _COMPREHENSIONS[type(node)], node.lineno, [*visit, *results], [])

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension  # noqa: N815

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.unsure.add(node.target.id)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        self.annotated(node.annotation)
        if node.value is not None:
            self.visit(node.value)

    def annotated(self, annotation: ast.expr) -> None:
        """Visit an annotation, quoted or not."""
        self.visit(annotation)
        for node in ast.walk(annotation):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.quoted(node)

    def quoted(self, node: ast.Constant) -> None:
        """Visit the names in a string that contains code."""
        start, end = self.module.span(node)
        for found in re.finditer(r"(?<![\w.])[^\W\d]\w*", self.text[start + 1 : end - 1]):
            self.note(start + 1 + found.start(), found.group(), "")

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            for inner in ast.walk(node.value):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    self.quoted(inner)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            start, end = self.module.span(alias)
            if alias.asname is not None:
                self.note(end - len(alias.asname), alias.asname, "import")
            elif alias.name != "*":
                self.note(start, alias.name.split(".")[0], "import")

    visit_ImportFrom = visit_Import  # noqa: N815

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name is not None and node.type is not None:
            _, end = self.module.span(node.type)
            self.note(self.word(node.name, end, end + 200), node.name, "variable")
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        start, end = self.module.span(node)
        for name in node.names:
            self.note(self.word(name, start + 6, end), name, "")

    visit_Nonlocal = visit_Global  # noqa: N815

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name is not None:
            self.unsure.add(node.name)
            self.note(self.module.span(node)[0], node.name, "variable")
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs  # noqa: N815


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    rest = (arguments.vararg, arguments.kwarg)
    return [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        *(parameter for parameter in rest if parameter is not None),
    ]

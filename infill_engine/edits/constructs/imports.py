"""How files import names: the imports of a project's files by name, and where one more belongs in a text.

A language's record says how an import is written (`import_forms`), so a statement need not be parsed to be found.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from posixpath import dirname, join, normpath, relpath, splitext

from infill_engine.edits.parsed_text import ParsedText, first_child
from infill_engine.edits.types import Edit
from infill_engine.text import lines
from infill_engine.text.languages.node_types import ImportForm
from infill_engine.text.languages.registry import language as language_named
from infill_engine.text.sequences import common_ends
from infill_engine.types import ProjectText

PROJECTS = 4  # texts whose imports are kept
_PLAIN = re.compile(r"""[\s'";(){}]+""")  # what does not distinguish two imports
_LAST_WORD = re.compile(r"([\w$]+)\W*\Z")
_RELATIVE = re.compile(r"(?P<quotes>\W*?)(?P<path>\.[\w./@-]*)(?P<end>\W*)\Z")


@dataclass(frozen=True, slots=True)
class Import:
    """An element of a statement that imports a name: `name`, as it is written there in `spec`.

    `start` and `end` are the statement's in its text. `last` is where its last element ends, -1 without a list. `parts`
    are the groups of the form's pattern.
    """

    form: ImportForm
    name: str
    spec: str
    parts: Mapping[str, str]
    path: str
    start: int
    end: int
    last: int

    @property
    def module(self) -> str:
        """What the name is imported from, as it is written; "" if the element says it."""
        return self.parts.get("module", "")

    @property
    def written(self) -> str:
        """A statement that imports the name alone."""
        return self.form.write.format(spec=self.spec, **self.parts)

    @property
    def meaning(self) -> str:
        """The statement without signs that do not matter."""
        return _PLAIN.sub(" ", self.written).strip()

    @property
    def origin(self) -> str:
        """What the statements are ordered by."""
        return (self.module or self.written).casefold()

    @property
    def place(self) -> tuple[bool, str]:
        """The place in the order: what belongs to the project comes last."""
        return _RELATIVE.match(self.module) is not None, self.origin

    def seen_from(self, path: str) -> "Import | None":
        """Return the import as another file has to write it; None if it cannot."""
        relative = _RELATIVE.match(self.module)
        if relative is None:
            return self
        if not self.path or not path:
            return None
        module = _moved(relative, dirname(self.path), dirname(path), splitext(path)[0])
        return None if module is None else replace(self, parts={**self.parts, "module": module})


@lru_cache(PROJECTS)
def imports_of(project: ProjectText, language: str) -> dict[str, tuple[Import, ...]]:
    """Return the imports of all files of a project by the name that they import."""
    found: dict[str, list[Import]] = {}
    for path, text in project.each():
        for one in imports_in(text, language, path):
            found.setdefault(one.name, []).append(one)
    return {name: tuple(imports) for name, imports in found.items()}


def imports_in(text: str, language: str, path: str = "") -> Iterator[Import]:
    """Yield the names that a text imports by statements that begin a line."""
    forms = language_named(language).syntax.import_forms
    starts = tuple({form.start for form in forms})
    at = 0
    for line in text.split("\n"):
        if line.startswith(starts):
            for form in forms:
                statement = form.pattern.match(text, at) if line.startswith(form.start) else None
                if statement is not None:
                    yield from _elements(form, statement, path)
                    break
        at += len(line) + 1


def _elements(form: ImportForm, statement: re.Match[str], path: str) -> Iterator[Import]:
    groups = statement.groupdict()
    listed = groups.get("list")
    names = groups["name"] if listed is None else listed
    last = -1 if listed is None else statement.start("list") + len(names.rstrip(", \t\r\n"))
    parts = {key: value or "" for key, value in groups.items() if key not in ("list", "name")}
    for spec in re.split(r"[,\n]", names):
        bound = (form.bound or _LAST_WORD).search(spec.strip())
        name = "" if bound is None else next((group for group in bound.groups() if group), "")
        if name and not spec.strip().startswith(("#", "/")):
            yield Import(form, name, spec.strip(), parts, path, statement.start(), statement.end(), last)


def _moved(relative: re.Match[str], folder: str, own: str, own_file: str) -> str | None:
    """Return a relative module as a file in the folder `own` writes it; None if it is that file."""
    path = relative["path"]
    if relative["quotes"]:
        target = normpath(join(folder, path))
        moved = relpath(target, own or ".")
        moved = moved if moved.startswith(".") else f"./{moved}"
    else:
        dots = len(path) - len(path.lstrip("."))
        target = normpath(join(folder, "../" * (dots - 1), path[dots:].replace(".", "/")))
        names = relpath(target, own or ".").split("/")
        moved = "." * (names.count("..") + 1) + ".".join(name for name in names if name not in (".", ".."))
    if splitext(target)[0] == own_file or target == own_file:
        return None
    return f"{relative['quotes']}{moved}{relative['end']}"


def addition(source: ParsedText, one: Import) -> Edit:
    """Return the edit that adds an import to a text: to the list of its module, or as a line in their order."""
    text = source.text
    own = list(imports_in(text, source.language))
    form = one.form.write, _origin(one)
    listed = next((each for each in own if each.last >= 0 and (each.form.write, _origin(each)) == form), None)
    if listed is not None:
        return _listed(text, listed, one)
    statements = list({each.start: each for each in own}.values())
    if not statements:
        return _first(source, one)
    statements.sort(key=lambda each: each.start)
    own = [each for each in statements if each.form.start == one.form.start] or statements[-1:]
    shared = [common_ends(each.origin, one.origin)[0] for each in own]
    nearest = [each for each, length in zip(own, shared, strict=True) if length == max(shared)]
    later = next((each for each in nearest if each.form.start == one.form.start and each.place > one.place), None)
    if later is not None:
        return Edit.insertion(later.start, f"{one.written}\n")
    return Edit.insertion(lines.around(text, nearest[-1].end, nearest[-1].end)[1], f"\n{one.written}")


def _origin(one: Import) -> dict[str, str]:
    """Return what all elements of a list are imported from."""
    return {key: _PLAIN.sub("", value) for key, value in one.parts.items() if key != "end"}


def _listed(text: str, listed: Import, one: Import) -> Edit:
    """Return the edit that adds an element at the end of a list, as the one before it stands."""
    at = listed.last
    start = lines.start_of(text, at)
    alone = start > listed.start
    comma = text[at : at + 1] == ","
    between = f"\n{lines.indent_of(text[start:])}" if alone else " "
    if not listed.form.comma:
        return Edit.insertion(at, f"{between}{one.spec}")
    return Edit.insertion(at + comma, f"{between}{one.spec}," if comma else f",{between}{one.spec}")


def _first(source: ParsedText, one: Import) -> Edit:
    """Return the edit that adds the first import of a text, below what must come before it."""
    at, text = 0, source.text
    for node in source.root.named_children:
        start, end = source.span_of(node)
        end = start + len(text[start:end].rstrip())
        inner = first_child(node) if node.type == "expression_statement" else None
        comment = node.type in source.nodes.comments and text[end:].lstrip(" \t").startswith(("\n\n", "\r\n\r\n"))
        is_text = inner is not None and inner.type in source.nodes.strings
        if not (comment or node.type in source.syntax.preamble or is_text):
            break
        at = end
    return Edit.insertion(at, f"\n\n{one.written}" if at else f"{one.written}\n\n")

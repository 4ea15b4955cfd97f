"""A name was used for the first time that other files of the project import: propose the same import.

x = Path(name)                      and so     from pathlib import Path

Only if all files agree where the name comes from.
"""

import re
from collections.abc import Iterator

from infill_engine.edits.changes import inserted, word_at
from infill_engine.edits.constructs.imports import Import, addition, imports_of
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.resolution.names import Names
from infill_engine.edits.resolution.occurrence import Role
from infill_engine.edits.types import Kind, Proposal

CONFIDENCE = 0.7
MOST_WORDS = 12  # that an edit adds
_WORD = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")


def propose_imports(edit: ParsedEdit) -> Iterator[Proposal]:
    """Yield a proposal for each name that the changes use first."""
    if not edit.project.text or not edit.syntax.import_forms:
        return
    words = dict.fromkeys(_added(edit))
    known = imports_of(edit.project, edit.after.language) if words else {}
    for word in words if len(words) <= MOST_WORDS else ():
        one = _agreed(edit, known[word]) if word in known and _is_undefined(edit, word) else None
        if one is not None and (not one.form.object or f"{word}." in edit.after.text):
            label = f"import {word} as the project's other files do"
            yield Proposal((addition(edit.after, one),), label, CONFIDENCE, Kind.FIELD)


def _added(edit: ParsedEdit) -> Iterator[str]:
    """Yield the words that the changes add to the text."""
    text = edit.after.text
    for _, start, end in inserted(edit.changes):
        first, last = word_at(text, start, end, edit.after.language)
        yield from _WORD.findall(text[first:last])


def _is_undefined(edit: ParsedEdit, word: str) -> bool:
    """Return whether a name is used, was not used before, and is defined nowhere in the text."""
    if word in edit.syntax.builtins or next(edit.before.words(word), None) is not None:
        return False
    names = Names.of(edit.after, word)
    if names.opaque or any(one.owner is not None or one.unsure for one in names.all):
        return False
    return any(one.role is Role.REFERENCE and one.kind != "quoted" for one in names.all)


def _agreed(edit: ParsedEdit, imports: tuple[Import, ...]) -> Import | None:
    """Return the import that all files have; if they differ, the one in the form that this file uses."""
    seen = [moved for one in imports if (moved := one.seen_from(edit.path)) is not None]
    if not seen or len(seen) < len(imports) or len({one.meaning for one in seen}) > 1:
        return None
    one = seen[0]
    source = one.module or one.spec
    package = re.sub(r"\W*\w+\W*\Z", "", source)
    text = edit.after.text
    if re.search(rf"(?m)^(?:package|namespace)\s+{re.escape(package)}\s*[;{{]?\s*$", text) if package else False:
        return None  # it is seen without an import
    if re.search(r"(?m)^(?:import|from|use)\b.*\*\s*;?\s*$", text):
        return None  # it may come from there
    module = re.sub(r"\W+", "/", source).strip("/")
    own = re.sub(r"\W+", "/", edit.path.rpartition(".")[0]).strip("/")
    return None if module and f"/{own}".endswith(f"/{module}") else one

"""A parameter was added or removed: propose the line that documents it.

def load(path, size):               and so     :param path: what to read
                                               :param size:
"""

from collections.abc import Iterator

from infill_engine.edits.constructs.documentation import Documented, documented
from infill_engine.edits.constructs.signatures import Signature, changed_signatures
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.types import Kind, Proposal

REMOVED, ADDED = 0.7, 0.55


def propose_parameter_docs(edit: ParsedEdit) -> Iterator[Proposal]:
    """Yield a proposal for each function whose documented parameters were changed."""
    for signature in edit.once(changed_signatures):
        yield from _proposals(edit, signature)


def _proposals(edit: ParsedEdit, signature: Signature) -> Iterator[Proposal]:
    source = edit.before
    known = {one.name: one for one in documented(source, signature.function) or ()}
    gone = [known[one.name] for one in signature.removed if one.name in known]
    if gone and not signature.added:
        edits = [made for one in gone if (made := edit.replacing(one.start, one.end, "")) is not None]
        if len(edits) == len(gone):
            names = ", ".join(one.name for one in gone)
            yield Proposal(tuple(edits), f"remove {names} from the documentation", REMOVED, Kind.SIGNATURE)
    if len(signature.added) == 1 and not signature.removed and known:
        new = signature.added[0]
        model, below = _model(signature, known)
        place = None if model is None else model.end if below else model.start
        inserted = None if model is None or place is None else edit.replacing(place, place, model.like(new))
        if inserted is not None:
            yield Proposal((inserted,), f"add {new.name} to the documentation", ADDED, Kind.SIGNATURE)


def _model(signature: Signature, known: dict[str, Documented]) -> tuple[Documented | None, bool]:
    """Return what documents the parameter before a new one, or else the one after it; and whether it is before it.

    All other parameters must be documented, apart from the object of a method.
    """
    names = [one.name for one in signature.after]
    others = [one.name for one in signature.before if one.name not in ("self", "cls")]
    at = names.index(signature.added[0].name)
    if signature.added[0].name in known or not others or any(name not in known for name in others):
        return None, False
    above = known.get(names[at - 1]) if at else None
    after = known.get(names[at + 1]) if at + 1 < len(names) else None
    return (above, True) if above is not None else (after, False)

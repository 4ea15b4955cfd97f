"""Drafts for a hole from similar places: copied unchanged, or with names exchanged."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from infill_engine.context.drafts.continuation import around_hole
from infill_engine.context.drafts.error_checks import error_check
from infill_engine.context.drafts.exact_match import find_copies
from infill_engine.context.drafts.names import find_names
from infill_engine.context.drafts.paths import find_paths
from infill_engine.context.drafts.renamed_match import find_analogies
from infill_engine.types import Draft, Hole

MOST = 4  # of each kind
CHECKED = 0.6  # confidence in the check of an error


def find_drafts(
    prefix: str,
    suffix: str,
    sources: Sequence[str],
    hole: Hole,
    language: str = "",
    own: str = "",
    paths: Sequence[str] = (),
) -> tuple[Draft, ...]:
    """Return different drafts for the hole between `prefix` and `suffix`: names that are due there, the best copy, the
    best renamed copy, and so on.

    `sources` are whole texts, nearest first: the text up to the cursor, the text after it, then other files. `language`
    is an LSP identifier, `own` the path of the file, and `paths` are those of the project's other files, nearest first.
    The texts have LF line ends and begin at the cursor. They begin with indentation only if the cursor's line is empty.
    """
    around = around_hole(prefix, suffix)
    before, after, *_ = sources
    check = error_check(before, after, language)
    named = (
        [Draft(check, sure=CHECKED)]
        if check
        else find_paths(before, after, language, own, paths) or find_names(before, after, language)
    )
    copies = find_copies(around, sources, hole, MOST)
    analogies = find_analogies(around, sources, hole, MOST, language)
    taken_in_turn = chain.from_iterable(zip_longest(copies, analogies))
    return _merged((*named, *(draft for draft in taken_in_turn if draft is not None)))


def _merged(drafts: Iterable[Draft]) -> tuple[Draft, ...]:
    """Return the drafts, with equal texts merged."""
    merged: dict[str, Draft] = {}
    for draft in drafts:
        text = draft.text.strip()
        first = merged.setdefault(text, draft)
        if first is not draft:
            merged[text] = replace(
                first,
                copied=max(first.copied, draft.copied),
                analogous=max(first.analogous, draft.analogous),
                share=max(first.share, draft.share),
                sure=max(first.sure, draft.sure),
            )
    return tuple(merged.values())

"""Forms of a pass: the numbers of rows and mask rows for which the graph has a branch.

A pass is padded to the cheapest form that holds it. Within a branch these numbers are fixed, so the plugin plans its
operations once. Otherwise it plans a thousand operations anew whenever the number of rows changes, which it does in
almost every pass of an answer.
"""

from collections.abc import Sequence
from typing import NamedTuple


class PassForm(NamedTuple):
    """How many rows and mask rows a pass has room for."""

    rows: int
    masks: int


class Branch(NamedTuple):
    """A branch of the graph: its form, and whether the terms of the edit adapter are added."""

    form: PassForm
    adapted: bool


MASKS = 14  # of two whole blocks, or of three shorter ones
FORMS = (
    PassForm(8, 0),
    PassForm(8, MASKS),
    PassForm(16, 0),
    PassForm(16, MASKS),
    PassForm(32, 0),
)  # the cheapest first


def forms_of(*, denoises: bool) -> tuple[PassForm, ...]:
    """Return the forms of a network with or without mask rows, the cheapest first."""
    return FORMS if denoises else tuple(form for form in FORMS if not form.masks)


def branches_of(*, denoises: bool, adapts: bool) -> tuple[Branch, ...]:
    """Return the branches of a network with or without mask rows and an edit adapter, in their order in the graph."""
    plain = tuple(Branch(form, adapted=False) for form in forms_of(denoises=denoises))
    return plain + tuple(Branch(form, adapted=True) for form in forms_of(denoises=False)) * adapts


def form_for(forms: Sequence[PassForm], rows: int, masks: int) -> PassForm:
    """Return the cheapest form that holds a pass; the pass itself if none does."""
    fitting = (form for form in forms if rows <= form.rows and masks <= form.masks)
    return next(fitting, PassForm(rows, masks))

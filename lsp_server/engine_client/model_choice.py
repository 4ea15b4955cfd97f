"""Resolves the user's choice of model for a connection, and picks a replacement when it fails."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from infill_engine.engine.remote.address import disclosure, is_remote, read_address
from infill_engine.errors import InputError
from infill_engine.models.registry import DEFAULT, RETRIEVAL, resolved
from infill_engine.serving.protocol import Status
from lsp_server.settings.schema import EngineChoice

ALWAYS_THERE = EngineChoice()


def settled(choice: EngineChoice, roots: Sequence[str]) -> tuple[EngineChoice, str]:
    """Return the choice in the form the engine uses, and a message for the user ("" if there is none).

    Relative paths are resolved against the first workspace folder. For a remote server, the message says what is sent
    there.
    """
    if is_remote(choice.model):
        with contextlib.suppress(InputError):  # the engine reports what is wrong and sends nothing
            return choice, disclosure(read_address(choice.model))
        return choice, ""
    folder = Path(roots[0]) if roots else Path.cwd()
    return replace(choice, model=resolved(choice.model, folder)), ""


def successor(failed: EngineChoice) -> EngineChoice | None:
    """Return the engine that replaces one that failed to load; None if the default itself failed."""
    always = ALWAYS_THERE
    if (failed.model, failed.device, failed.precision) == (always.model, always.device, always.precision):
        return None
    return ALWAYS_THERE


def as_shown(status: Status, wanted: EngineChoice, budget_ms: float) -> Status:
    """Return the engine's status for display.

    If another engine was substituted, it names the one the user wanted. It says if the model cannot answer within the
    budget of a keystroke.
    """
    if status.least_ms > budget_ms:
        slow = f"too slow for {budget_ms:.0f} ms on this machine: project matches appear at once, the rest later"
        status = structs.replace(status, detail="; ".join(filter(None, (status.detail, slow))))
    if status.model in (DEFAULT, RETRIEVAL) and wanted.model not in (DEFAULT, RETRIEVAL):
        status = structs.replace(status, model=f"{status.model}, in place of {wanted.model}")
    if status.device and wanted.device not in (ALWAYS_THERE.device, status.device) and not is_remote(wanted.model):
        status = structs.replace(status, device=f"{status.device}, in place of {wanted.device}")
    return status

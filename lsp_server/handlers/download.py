"""infill.downloadModel: the default model's files are fetched and built by a process of their own, then the engine uses
them.

    → [{workDoneToken?}]    the client's token for `$/progress`; without one, the client is asked for a progress bar
    ← {outcome: "done" | "failed" | "cancelled", message}

The client cancels by `window/workDoneProgress/cancel`. What has been received is kept, and the next download continues
there.
"""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from typing import Any

import msgspec
from lsprotocol import types

from infill_engine.models.checkpoint.user_data import trunk_folder
from infill_engine.models.registry import DEFAULT
from infill_engine.models.trunk.files import published_file
from infill_engine.models.trunk.files.folder import find_trunk
from lsp_server.engine_client.link import WORKING_FOLDER
from lsp_server.protocol.messages import read_argument
from lsp_server.protocol.progress import ProgressBar
from lsp_server.session import Session

BUILDER = (sys.executable, "-m", "lsp_server.cli.models.building")  # fetches the default model
TITLE = "Downloading the infill model"
DONE, FAILED, CANCELLED = "done", "failed", "cancelled"


class _Argument(msgspec.Struct, rename="camel"):
    work_done_token: int | str | None = None


def missing_model(session: Session) -> dict[str, object] | None:
    """Return what would be fetched, and the folder where the file may be put by hand; None if nothing is missing."""
    if session.workspace.settings.engine.model != DEFAULT or find_trunk(trunk_folder()).folder is not None:
        return None
    return {
        "file": published_file.PUBLISHED.file,
        "megabytes": round(published_file.PUBLISHED.size / 1e6),
        "address": published_file.PUBLISHED.address,
        "folder": str(trunk_folder().parent),
    }


async def download_model(session: Session, *arguments: object) -> dict[str, str]:
    """Fetch and build the default model's files. The client has asked the user. Never raises."""
    if session.downloading is not None:
        return {"outcome": FAILED, "message": "The default model is being downloaded already."}
    client = read_argument(arguments, _Argument)
    bar = ProgressBar(session.protocol, TITLE, None if client is None else client.work_done_token, cancellable=True)
    session.downloading = (bar.token, asyncio.ensure_future(_run(bar)))
    try:
        outcome, message = await session.downloading[1]
    except asyncio.CancelledError:
        outcome, message = CANCELLED, "The download was cancelled. What was received is kept for the next one."
    finally:
        session.downloading = None
    bar.end(message)
    if outcome == DONE and session.workspace.settings.enable and session.engine.choice.model == DEFAULT:
        await session.engine.start(session.engine.choice, anew=True)
    return {"outcome": outcome, "message": message}


def did_cancel_progress(session: Session, params: types.WorkDoneProgressCancelParams) -> None:
    """Cancel the download if the progress is its own."""
    if session.downloading is not None and session.downloading[0] == params.token:
        session.downloading[1].cancel()


async def _run(bar: ProgressBar) -> tuple[str, str]:
    """Start the process that fetches and builds, and follow it. Return how it ended, with a sentence for the user."""
    last: Mapping[str, Any] = {}
    try:
        child = await asyncio.create_subprocess_exec(*BUILDER, stdin=DEVNULL, stdout=PIPE, cwd=WORKING_FOLDER)
    except OSError as fault:
        return FAILED, f"The download could not be started: {fault.strerror}."
    assert child.stdout is not None
    try:
        async for line in child.stdout:
            last = json.loads(line)
            if "doing" in last:
                bar.report(str(last["doing"]), float(last["share"]))
        await child.wait()
    finally:
        if child.returncode is None:
            child.kill()  # what it has written is kept
    if "folder" in last:
        return DONE, f"The default model is in {last['folder']}. It is used as soon as it is loaded."
    return FAILED, f"The default model could not be downloaded: {last.get('error', 'the process ended early')}."

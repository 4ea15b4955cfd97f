"""What the tests of the hub run in processes of their own, since the library reads its environment once.

The processes are forked from one that has imported torch, which takes longer than all they do, and not the library.
"""

import contextlib
import io
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

WAIT = 120  # seconds after which a test has failed

Program = Callable[[str], dict[str, object]]


def in_process(program: Program, name: str, environment: dict[str, str]) -> dict[str, Any]:
    """Call `program` with a model's name. A ModelError is the value of "error"."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["infill_engine.models.checkpoint.files"])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(program, name, environment, sender))
    process.start()
    sender.close()
    assert receiver.poll(WAIT)
    found, noise = receiver.recv()
    process.join()
    assert not noise
    return json.loads(found)


def peek(name: str) -> dict[str, object]:
    from infill_engine.models.checkpoint import hub

    config, shapes = hub.peek(name)
    return {"config": config, "shapes": shapes}


def fetch(name: str) -> dict[str, object]:
    from infill_engine.models.checkpoint import hub

    said: list[object] = []
    found = hub.fetch(name, lambda doing, share: said.append((doing, share)))
    return {"files": sorted(path.name for path in found.rglob("*")), "folder": str(found), "said": said}


def load_without_torch(name: str) -> dict[str, object]:
    sys.modules["torch"] = None  # type: ignore[assignment]
    from infill_engine.models.model_loading import load_model

    load_model(name)
    return {}


def describe_without_torch(name: str) -> dict[str, object]:
    sys.modules["torch"] = None  # type: ignore[assignment]
    from infill_engine.models.checkpoint.inspect import describe

    return asdict(describe(name, "cpu"))


def _run(program: Program, name: str, environment: dict[str, str], answer: Connection) -> None:
    os.environ.clear()
    os.environ.update(environment)
    time.sleep = lambda _seconds: None  # the library waits for 23 seconds in all before it gives up on a server
    from infill_engine.errors import ModelError

    noise = io.StringIO()
    with contextlib.redirect_stdout(noise), contextlib.redirect_stderr(noise):
        try:
            found = program(name)
        except ModelError as error:
            found = {"error": str(error)}
    answer.send((json.dumps(found), noise.getvalue()))

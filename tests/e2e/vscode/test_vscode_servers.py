"""How the extension finds a server, and what it says and does when there is none, or one that is of no use.

The servers stand in for infill-ls, except where one is installed.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driver.stand_in import log_of, program, starts
from driver.workbench import Workbench

AUTOMATIC = 2  # the trigger kind of an inline completion that nobody has asked for
OPENED = "textDocument/didOpen"


@pytest.fixture(scope="module")
def on_path(scratch: Path) -> Iterator[str]:
    """A server on the PATH."""
    path = program(scratch / "bin" / "infill-ls", says="on_path")
    yield path
    Path(path).unlink()


@pytest.fixture
def bare(fresh: Workbench, offer: str, on_path: str) -> Iterator[Workbench]:
    """The workbench with that server, which is up in a moment."""
    if "Ready: on_path on" not in fresh.sentence():
        fresh.command("Infill: Restart Engine")
    fresh.close()
    fresh.wait_for_model("on_path")
    yield fresh
    fresh.close_messages()
    fresh.configure(serverPath=None)


def test_where_a_server_is_looked_for(bare: Workbench, scratch: Path, on_path: str) -> None:
    chosen = scratch / "home" / "interpreter"
    set_server = program(scratch / "set", says="in_the_setting")
    venv = program(bare.folder / ".venv" / "bin" / "python", says="in_the_workspace")
    chosen.write_text(program(scratch / "conda" / "bin" / "python", says="of_the_interpreter"))
    bare.wait_for_model("of_the_interpreter")  # as soon as it was chosen
    bare.configure(serverPath=set_server)
    bare.wait_for_model("in_the_setting")
    bare.configure(serverPath=None)
    bare.wait_for_model("of_the_interpreter")
    chosen.unlink()
    bare.wait_for_model("in_the_workspace")
    Path(venv).unlink()
    bare.command("Infill: Restart Engine")
    bare.wait_for_model("on_path")
    Path(on_path).rename(f"{on_path}.away")
    bare.command("Infill: Restart Engine")
    bare.until(lambda: len(bare.server_processes()) == 1, "the one that was installed")
    Path(f"{on_path}.away").rename(on_path)
    # Each was asked to shut down before the next was started, and none a second time.
    assert [starts(path) for path in (set_server, venv)] == [1, 1]
    assert "shutdown" in {message.get("method") for message in log_of(set_server)}


def asked(path: str) -> list[int]:
    """The trigger kinds of the ghost text that a stand-in was asked for."""
    messages = [message for message in log_of(path) if message.get("method") == "textDocument/inlineCompletion"]
    return [message["params"]["context"]["triggerKind"] for message in messages]


def test_what_is_typed_before_the_model_is_ready(bare: Workbench, scratch: Path) -> None:
    """Asked for once, when it is ready; and not at all where the user wants no ghost text unasked."""
    for wanted, loading in ((True, "slow_one"), (False, "slow_two")):
        loaded = scratch / f"{loading}.loaded"
        server = program(scratch / loading, says=loading, loads_until=str(loaded))
        bare.prefer({"editor.inlineSuggest.enabled": wanted})
        bare.configure(serverPath=server)
        bare.until(lambda: bare.status() == "Infill 50%", "a model that is being loaded", bare.status)
        bare.open(f"{loading}.py", "x =│\n")
        bare.type_text(" ")
        bare.until(lambda server=server, wanted=wanted: len(asked(server)) == int(wanted), "a request")  # type: ignore[misc]
        loaded.touch()
        if wanted:
            bare.wait_for_ghost(loading)
            bare.wait_for_model(loading)
        else:
            bare.until(lambda: "inlineSuggest.enabled` is off" in bare.sentence(), "a reason", bare.sentence)
        bare.command("Infill: Show Status")
        bare.until(lambda: "Device    cpu" in bare.text(), "the status", bare.text)
        assert asked(server) == ([AUTOMATIC] * 2 if wanted else [])
    bare.prefer({})


def test_a_document_that_is_only_virtual_is_left_alone(bare: Workbench, scratch: Path) -> None:
    server = program(scratch / "virtual", says="virtual")
    bare.configure(serverPath=server)
    path = bare.open("real.py", "x =│\n")
    bare.wait_for_model("virtual")
    bare.command("Infill: Show Log")
    bare.until(lambda: '"output:" document' in bare.sentence(), "the log to be left alone", bare.sentence)
    bare.command("Infill: Pick Candidate")
    bare.wait_for_message('this is a "output:" document')
    bare.press("Control+j")  # closes it
    bare.go_to(path, 1, 4)
    bare.wait_for_model("virtual")
    bare.type_text(" ")
    bare.wait_for_ghost("virtual")
    opened = [message["params"]["textDocument"]["uri"] for message in log_of(server) if message.get("method") == OPENED]
    assert path.as_uri() in opened
    assert all(uri.startswith("file:") for uri in opened)


def test_an_older_server_is_told_of(bare: Workbench, scratch: Path) -> None:
    bare.configure(serverPath=program(scratch / "older", says="older", version="0.0.9"))
    told = bare.wait_for_message("older than this extension")
    assert "0.0.9" in told
    assert "in the way it was installed" in told
    assert len(bare.messages()) == 1


# what infill.serverPath names, and what the user is told
BAD_SERVERS: dict[str, tuple[dict[str, Any] | str | None, str]] = {
    "missing": (None, "which cannot be run"),
    "crashing": ('import sys; sys.exit("out of order")', 'it ended with code 1, saying "out of order"'),
    "chattering": ("print('hello'); import time; time.sleep(0.3)", "it ended with code 0"),
    "hanging": ("import time; time.sleep(3600)", "did not answer within 20 seconds of its start and was ended."),
    "another": ({"name": "other"}, 'is the language server "other", not infill-ls'),
}


@pytest.mark.parametrize("name", BAD_SERVERS)
def test_a_server_that_cannot_be_used(bare: Workbench, scratch: Path, name: str) -> None:
    what, told = BAD_SERVERS[name]
    path = scratch / name
    if isinstance(what, dict):
        program(path, **what)
    elif what:
        script(path, what)
    bare.configure(serverPath=str(path))
    bare.wait_for_message(told)
    bare.wait_for_status("Infill: failed")
    assert len(bare.messages()) == 1
    assert not running(bare, path)
    file = bare.open(f"{name}_server.py", "x =│\n")
    bare.type_text(" 1")
    assert bare.saved(file) == b"x = 1\n"
    bare.press_for_message("Control+Alt+Enter", "Infill cannot answer now.")
    bare.close_messages()
    bare.configure(serverPath=None)
    bare.wait_for_model("on_path")


def test_a_server_that_hangs_gives_way_to_another(bare: Workbench, scratch: Path) -> None:
    path = scratch / "given_up"
    script(path, "import time; time.sleep(3600)")
    bare.configure(serverPath=str(path))
    bare.until(lambda: running(bare, path), "the server to be started")
    bare.wait_for_status("Infill: starting")
    file = bare.open("meanwhile.py", "x =│\n")
    bare.type_text(" 1")
    assert bare.saved(file) == b"x = 1\n"
    bare.configure(serverPath=None)
    bare.until(lambda: not running(bare, path), "the server to be ended")
    bare.wait_for_model("on_path")
    assert not bare.messages()


def script(path: Path, text: str) -> None:
    """Write an executable in Python."""
    path.write_text(f"#!/usr/bin/env python3\n{text}\n")
    path.chmod(0o755)


def running(window: Workbench, path: Path) -> bool:
    """Whether a script is being run."""
    return any(str(path) in words for _, words in window.processes())


def test_a_server_that_crashes_again_and_again(bare: Workbench, scratch: Path) -> None:
    crashing = program(scratch / "falling", says="falling", dies_after=0.3)
    bare.configure(serverPath=crashing)
    told = bare.wait_for_message("the server stopped 4 times in three minutes; it ended with code 70")
    assert "run Infill: Doctor" in told
    bare.wait_for_status("Infill: failed")
    assert len(bare.messages()) == 2  # this and the one that it is being started again
    assert starts(crashing) == 4
    path = bare.open("falling.py", "x =│\n")
    bare.type_text(" 1")
    assert bare.saved(path) == b"x = 1\n"
    assert starts(crashing) == 4
    program(scratch / "falling", says="mended")
    bare.press_button("Restart")
    bare.wait_for_model("mended")


def test_an_installation_without_python_and_one_that_is_cancelled(bare: Workbench, scratch: Path) -> None:
    python, away = scratch / "bin" / "python3", scratch / "python3"
    [environment] = bare.environments.glob("env-*")
    python.rename(away)
    bare.command("Infill: Install Server")
    assert "python3-venv" in bare.wait_for_message("It needs Python 3.11 or newer with venv, and found none.")
    python.write_text(f'#!/bin/sh\ncase "$*" in *"-m venv"*) sleep 3600 ;; esac\nexec "{away}" "$@"\n')
    python.chmod(0o755)
    bare.press_button("Try Again")
    # A message that goes takes the focus from the command palette, and closes it.
    bare.until(lambda: bare.messages() == ["Infill: making an environment…"], "one message", bare.messages)
    assert len(list(bare.environments.glob("env-*"))) == 2
    bare.command("Infill: Install Server")
    bare.wait_for_message("is being installed already")
    bare.press_button("Cancel")
    bare.until(lambda: list(bare.environments.glob("env-*")) == [environment], "nothing left of it")
    bare.until(lambda: not any("making" in message for message in bare.messages()), "the progress to go", bare.messages)
    assert not [words for _, words in bare.processes() if str(bare.environments) in " ".join(words)]
    away.replace(python)
    assert (bare.environments / "current").read_text() == environment.name
    assert not any("could not install" in message for message in bare.messages())
    assert bare.status() == "Infill"

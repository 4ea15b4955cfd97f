"""The default model, offered and downloaded in a real VS Code: a connection that breaks, cancelling, no network."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from downloads import FILE, PROGRAM, Hub, published
from driver.workbench import Workbench

PROGRESS = ":is(.notification-toast, .notifications-center.visible) .notification-list-item-message"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with published(tmp_path_factory.mktemp("hub") / "published") as made:
        yield made


@pytest.fixture
def bare(code: Workbench, hub: Hub, tmp_path: Path) -> Iterator[Workbench]:
    """A workbench on a machine without the default model."""
    # An engine of its own, which knows nothing of the downloads of other tests.
    with tempfile.TemporaryDirectory(prefix="infill-") as sockets:
        yield from _bare(code, hub, tmp_path, f"INFILL_RUNTIME_DIR={sockets} INFILL_ENGINE_IDLE_SECONDS=0")


def _bare(code: Workbench, hub: Hub, tmp_path: Path, own_engine: str) -> Iterator[Workbench]:
    path = tmp_path / "infill-ls"
    environment = f"HF_ENDPOINT={hub.endpoint} INFILL_STATE_DIR={tmp_path / 'state'} {own_engine}"
    program = f"{sys.executable} {PROGRAM} {hub.models['some/tiny-GGUF'] / FILE}"
    path.write_text(f'#!/bin/sh\n{environment} exec {program} "$@"\n')
    path.chmod(0o755)
    code.configure(serverPath=str(path), model=None, showThreshold=0)
    code.wait_for_model("retrieval")
    yield code
    code.close()
    code.close_messages()
    code.configure(serverPath=None)


def test_it_is_offered_once_and_used_without_a_reload(bare: Workbench, hub: Hub) -> None:
    told = bare.wait_for_message("default model is not on this machine")
    assert "https://huggingface.co/some/tiny-GGUF" in told
    hub.cut_after = 60_000
    bare.press_button("Download")
    bare.wait_for_model("whole")
    assert "It is used as soon as it is loaded" in bare.wait_for_message("The default model is in")
    assert any(request.startswith("RANGE") for request in hub.requests)


def test_it_can_be_cancelled_and_completions_go_on(bare: Workbench, hub: Hub, tmp_path: Path) -> None:
    assert not any("default model is not on this machine" in message for message in bare.messages())  # said once
    hub.stalls_after = 100_000
    bare.command("Infill: Download Default Model")
    bare.until(lambda: any("%)" in text for text in bare.texts(PROGRESS)), "progress", lambda: bare.texts(PROGRESS))
    bare.open("goes_on.py", "x =│\n")
    bare.type_text(" ")
    bare.until(lambda: bool(bare.ghost()), "ghost text")
    bare.press_button("Cancel")
    bare.wait_for_message("What was received is kept")
    hub.go_on.set()
    bare.close_messages()
    bare.command("Infill: Download Default Model")
    bare.wait_for_model("whole")
    assert f"RANGE {FILE} 100000" in hub.requests


def test_without_a_network_it_says_which_file_to_put_where(bare: Workbench, hub: Hub, tmp_path: Path) -> None:
    models, hub.models = hub.models, {}
    bare.command("Infill: Download Default Model")
    assert f"put it into {tmp_path / 'state' / 'models'}" in bare.wait_for_message("answers 404")
    hub.models = models
    (tmp_path / "state" / "models" / FILE).write_bytes((models["some/tiny-GGUF"] / FILE).read_bytes())
    bare.press_button("Download Again")
    bare.wait_for_model("whole")

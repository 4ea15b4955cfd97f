"""ggml-org/llama.vscode, unmodified, against our HTTP server.

INFILL_LLAMA_VSCODE names a folder that holds its code, in which `npm install` and `npm run bundle` were run.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver.launch import workbench
from driver.scripts_said import SCRIPT
from driver.workbench import Workbench
from http_server import Server, serving

KEY = "a-key-of-somebody"


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("http")
    keys = folder / "keys"
    keys.write_text(KEY)
    keys.chmod(0o600)
    with serving(folder, "--api-key-file", str(keys), script=SCRIPT) as server:
        server.ready()
        yield server


@pytest.fixture(scope="module")
def llama(set_up: None, http: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    if not os.environ.get("INFILL_LLAMA_VSCODE"):
        pytest.skip("INFILL_LLAMA_VSCODE names no folder with ggml-org/llama.vscode")
    code = Path(os.environ["INFILL_LLAMA_VSCODE"])
    scratch = tmp_path_factory.mktemp("llama")
    about = json.loads((code / "package.json").read_text())
    installed = scratch / "extensions" / f"{about['publisher']}.{about['name']}-{about['version']}"
    installed.mkdir(parents=True)
    for part in ("package.json", "dist", "resources"):
        copy = shutil.copytree if (code / part).is_dir() else shutil.copy
        copy(code / part, installed / part)
    with workbench(scratch, {}, scratch / "extensions") as made:
        own = {"endpoint": http.url, "api_key": KEY, "ask_install_llamacpp": False, "t_max_predict_ms": 5000}
        made.prefer({f"llama-vscode.{name}": value for name, value in own.items()})
        yield made


def test_ghost_text_and_acceptance(llama: Workbench, http: Server) -> None:
    llama.open("activating.js", "│\n")  # a file of Python does not
    llama.until(lambda: "Information" in " ".join(llama.texts(".tab")), "its first page", lambda: llama.texts(".tab"))
    llama.offered("first.js", "y = 1\nx =│\n", " ", "alpha(1)")
    llama.press("Tab", "Control+s")
    path = llama.folder / "first.js"
    llama.until(lambda: path.read_text() == "y = 1\nx = alpha(1)\n", "the saved text", path.read_text)
    metrics = http.get("/metrics", {"Authorization": f"Bearer {KEY}"}).body.decode()
    assert 'path="/infill",status="200"' in metrics
    assert 'status="4' not in metrics
    assert not [message for message in llama.messages() if "Error" in message]

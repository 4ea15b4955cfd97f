"""No test uses the engine of whoever runs it, and none leaves an engine behind."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import prepared_models  # noqa: F401  before a test sets another folder
import psutil
import pytest
from hypothesis import HealthCheck, settings
from processes import wait_for_end

# Before torch is imported: threads that spin while they wait take the cores of the processes that a test starts.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# A property test must not fail because the machine is busy.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# These files take longest. If they did not begin first, all workers but one would wait for it in the end.
LONGEST = """
    bench/runs/test_gate.py bench/test_soak.py lsp_server/handlers/test_download_command.py
    lsp_server/cli/test_doctor.py train/test_command.py lsp_server/test_default_model.py
    lsp_server/cli/test_models_get.py infill_engine/models/trunk/test_sources.py
""".split()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    longest = [Path(__file__).parent / name for name in LONGEST]
    items.sort(key=lambda item: longest.index(item.path) if item.path in longest else len(longest))


@pytest.fixture(scope="session", autouse=True)
def runtime_dir() -> Iterator[Path]:
    """A folder for sockets. Its path is short, because those of sockets are limited."""
    folder = Path(tempfile.mkdtemp(prefix="infill-"))
    ours = {"INFILL_RUNTIME_DIR": str(folder), "INFILL_ENGINE_IDLE_SECONDS": "0"}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    yield folder
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
    end_engines(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def engine_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for sockets that is a test's own. What runs there ends with the test."""
    with tempfile.TemporaryDirectory(prefix="infill-") as name:
        monkeypatch.setenv("INFILL_RUNTIME_DIR", name)
        yield Path(name)
        end_engines(Path(name))


def end_engines(folder: Path) -> None:
    """Kill the engines whose sockets are in a folder."""
    for process in psutil.process_iter(["cmdline"]):
        if any(part.startswith(f"{folder}/") and part.endswith(".sock") for part in process.info["cmdline"] or ()):
            process.kill()
            wait_for_end(process.pid)

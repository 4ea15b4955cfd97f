"""OpenVINO reports each import to Google Analytics, unless its package for that is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("openvino")

SCRIPT = """
from infill_engine.models.trunk.trunk_loading import find_openvino

assert find_openvino()[0]
import infill_engine.models.trunk.graph
from openvino.tools.ovc import telemetry_utils

print(telemetry_utils.tm.__name__)
"""


def test_openvino_reports_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["openvino.tools.ovc.telemetry_stub"], ran.stderr
    assert not (tmp_path / "intel").exists()  # where it keeps the number of the user

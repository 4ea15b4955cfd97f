"""What ARCHITECTURE.md says of the layers is what is checked."""

import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_the_layers_are_those_that_are_checked() -> None:
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (checked,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    told = re.search(r"## Layers\n.*?\n\n((?:    [^\n]*\n)+)", (REPOSITORY / "ARCHITECTURE.md").read_text(), re.DOTALL)
    assert told is not None
    assert [line.strip() for line in told.group(1).splitlines()] == checked

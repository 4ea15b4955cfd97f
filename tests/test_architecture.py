"""What ARCHITECTURE.md says of the layers is what is checked."""

import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]


def test_the_layers_are_those_that_are_checked() -> None:
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (checked,) = (contract["layers"] for contract in contracts if contract["name"] == "Imports point down")
    drawn = re.search(r"## Layers\n.*?\n\n((?:    [^\n]*\n)+)", (REPOSITORY / "ARCHITECTURE.md").read_text(), re.DOTALL)
    assert drawn is not None
    assert [line.strip() for line in drawn.group(1).splitlines()] == checked

"""docs/no-suggestion.md explains every reason, and says where it is decided."""

import re
from pathlib import Path

from infill_engine.types import Reason

REPOSITORY = Path(__file__).parents[1]


def test_every_reason_is_explained() -> None:
    meanings, places = (REPOSITORY / "docs" / "no-suggestion.md").read_text().split("## Where each is decided")
    for text in (meanings, places):
        cells = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
        assert {name for cell in cells for name in re.findall("`([a-z_]+)`", cell)} == set(Reason)


def test_the_files_that_decide_exist() -> None:
    places = (REPOSITORY / "docs" / "no-suggestion.md").read_text().split("## Where each is decided")[1]
    named = re.findall(r"`((?:lsp_server|infill_engine)/[^`]+)`", places)
    assert named
    assert [path for path in named if not (REPOSITORY / path).exists()] == []

"""Where nothing is suggested, and how often that is decided."""

from dataclasses import replace
from typing import Any

import pytest

from infill_engine.types import Reason
from lsp_server.documents.snapshots import TextChange
from lsp_server.settings.schema import ServerSettings
from lsp_server.suggestions import workspace as workspace_module
from lsp_server.suggestions.workspace import LARGEST_SIZE, Workspace

URI = "file:///project/a.py"


@pytest.mark.parametrize(
    ("uri", "text", "settings", "expected"),
    [
        (URI, "x = 1\n", ServerSettings(), None),
        (URI, "x = 1\n", ServerSettings(enable=False), Reason.DISABLED),
        (URI, "x = 1\n", ServerSettings(languages={"python": False}), Reason.DISABLED),
        (URI, "x" * (LARGEST_SIZE + 1), ServerSettings(), Reason.UNSUPPORTED),
        ("file:///project/.env", "KEY=", ServerSettings(), Reason.EXCLUDED),
        (None, "", ServerSettings(), Reason.UNSUPPORTED),
        (None, "", ServerSettings(enable=False), Reason.DISABLED),
    ],
)
def test_reasons(uri: str | None, text: str, settings: ServerSettings, expected: Reason | None) -> None:
    workspace = Workspace(settings)
    snapshot = None if uri is None else workspace.documents.open(uri, "python", text)
    assert workspace.refusal(snapshot) == expected


def test_it_is_decided_once_for_a_version_and_again_for_other_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[Any] = []
    monkeypatch.setattr(workspace_module, "is_excluded", lambda *arguments: looked_at.append(arguments))
    workspace = Workspace()
    snapshot = workspace.documents.open(URI, "python", "x\n")
    assert [workspace.refusal(snapshot) for _ in range(4)] == [None] * 4
    assert len(looked_at) == 1
    snapshot = workspace.documents.change(URI, TextChange("y", (0, 0), (0, 0))).after
    assert [workspace.refusal(snapshot) for _ in range(4)] == [None] * 4
    assert len(looked_at) == 2
    workspace.settings = replace(workspace.settings, languages={"python": False})
    assert workspace.refusal(snapshot) is Reason.DISABLED
    workspace.settings, workspace.roots = ServerSettings(), ("/project",)
    assert workspace.refusal(snapshot) is None
    assert [roots for _, _, roots in looked_at] == [(), (), ("/project",)]

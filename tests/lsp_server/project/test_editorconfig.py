"""The indentation that `.editorconfig` files ask for."""

from pathlib import Path

import pytest

from lsp_server.project.editorconfig import indentation_of

ROOT = "root = true\n"


@pytest.mark.parametrize(
    ("config", "name", "expected"),
    [
        (ROOT + "[*]\nindent_style = space\nindent_size = 2\n", "a.py", "  "),
        (ROOT + "[*]\nindent_style = tab\n", "a.py", "\t"),
        (ROOT + "[*]\nindent_size = tab\ntab_width = 8\n", "a.c", "\t"),
        (ROOT + "[*]\nindent_style = space\nindent_size = 2\n[*.py]\nindent_size = 4\n", "a.py", "    "),
        (ROOT + "[*.{ts,js}]\nindent_size = 4\n", "lib/a.ts", "    "),
        (ROOT + "[*.{ts,js}]\nindent_size = 4\n", "a.py", ""),
        (ROOT + "[lib/**.js]\nindent_size = 4\n", "lib/deep/a.js", "    "),
        (ROOT + "[Makefile]\nindent_style = tab\n", "Makefile", "\t"),
        (ROOT + "[*]\nindent_size = -3\n", "a.py", ""),
        (ROOT + "[*]\nindent_size = 900\n", "a.py", ""),
        ("no configuration\n[", "a.py", ""),
        ("", "a.py", ""),
    ],
)
def test_indentation(tmp_path: Path, config: str, name: str, expected: str) -> None:
    (tmp_path / ".editorconfig").write_text(ROOT)
    project = tmp_path / "project"
    project.mkdir()
    (project / ".editorconfig").write_text(config)
    assert indentation_of(project / name) == expected


def test_the_nearer_file_wins(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / ".editorconfig").write_text(ROOT + "[*]\nindent_size = 2\n")
    (tmp_path / "lib/.editorconfig").write_text("[*.py]\nindent_size = 8\n")
    assert indentation_of(tmp_path / "lib/a.py") == " " * 8
    assert indentation_of(tmp_path / "lib/a.js") == "  "

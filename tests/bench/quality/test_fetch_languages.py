"""Packages to measure on are downloaded, checked and written to a folder for each language."""

import json
from pathlib import Path

import pytest

from bench.quality.problems import fetch_languages
from bench.quality.problems.fetch_languages import LISTS, fetch, listed
from infill_engine.text.languages import language
from train.corpus.packages import COMMANDS

PACK = (
    "import io,sys,tarfile\n"
    "files={{'package/package.json': b'{{\"license\": \"{licence}\"}}', 'package/a.go': b'package a\\n'}}\n"
    "tar=tarfile.open('a-1.0.tgz', 'w:gz')\n"
    "for name, data in files.items():\n"
    "    member=tarfile.TarInfo(name); member.size=len(data); tar.addfile(member, io.BytesIO(data))\n"
)


@pytest.mark.parametrize("name", LISTS)
def test_the_lists_name_languages_and_ways_to_download(name: str) -> None:
    assert all(language(each).id == each and set(kinds) <= set(COMMANDS) for each, kinds in listed(name).items())


@pytest.mark.parametrize(
    ("licence", "files", "trouble"),
    [("MIT", 1, ""), ("GPL-3.0", 0, "no usable file under a permissive licence (GPL-3.0)")],
)
def test_a_package_is_written_if_its_licence_permits(
    licence: str, files: int, trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COMMANDS, "npm", ["python3", "-c", PACK.format(licence=licence)])
    fetched = fetch("go", "npm", "@scope/a", tmp_path)
    assert (fetched.files, fetched.trouble, fetched.licence) == (files, trouble, licence)
    assert [path.read_text() for path in tmp_path.rglob("*.go")] == ["package a\n"] * files
    assert not files or (tmp_path / "go" / "scope-a" / "package" / "a.go").is_file()


def test_the_manifest_names_what_could_not_be_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in COMMANDS:
        monkeypatch.setitem(COMMANDS, kind, ["sh", "-c", "echo no such package >&2; exit 1"])
    monkeypatch.setattr("sys.argv", ["fetch_languages", "--out", str(tmp_path), "--only", "lua"])
    assert fetch_languages.main() == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert {each["trouble"] for each in manifest} == {"no such package"}

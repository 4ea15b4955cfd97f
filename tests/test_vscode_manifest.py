"""The extension's package.json against the server's code, without a workbench."""

import json
import re
import subprocess
import sys
from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path

import pytest

from lsp_server.cli import add_commands
from lsp_server.settings.schema import SETTINGS, EngineChoice, ServerSettings, read_settings

EXTENSION = Path(__file__).parents[1] / "editors" / "vscode"
MANIFEST = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
OWN, GENERATED = (group["properties"] for group in MANIFEST["contributes"]["configuration"])


def test_the_settings_are_those_of_the_server() -> None:
    check = subprocess.run(
        [sys.executable, str(EXTENSION / "settings.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert check.returncode == 0, check.stderr


@pytest.mark.parametrize("key", GENERATED)
def test_the_server_takes_what_the_editor_allows(key: str) -> None:
    schema, name = GENERATED[key], key.removeprefix("infill.")
    assert read_settings({name: schema["default"]}) == (ServerSettings(), ())
    for value in schema.get("enum", ()):
        assert read_settings({name: value})[1] == ()
    for bound, beyond in (("minimum", -1), ("maximum", 1)):
        if bound in schema:
            assert read_settings({name: schema[bound]})[1] == ()
            assert len(read_settings({name: schema[bound] + beyond})[1]) == 1


def test_no_setting_is_both_the_extensions_and_the_servers() -> None:
    assert not OWN.keys() & GENERATED.keys()


def test_the_lock_file_names_no_host() -> None:
    lock = (EXTENSION / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock


def test_every_command_in_the_palette_is_registered() -> None:
    source = (EXTENSION / "src" / "commands.ts").read_text(encoding="utf-8")
    registered = set(re.findall(r"^        (\w+)(?:: (?:async )?\(\w*\)|,$)", source, re.MULTILINE))
    assert registered == {command["command"].partition(".")[2] for command in MANIFEST["contributes"]["commands"]}


def test_every_command_named_anywhere_is_offered() -> None:
    offered = {command["command"] for command in MANIFEST["contributes"]["commands"]}
    named = set(re.findall(r"(?:command:|onCommand:)(infill\.\w+)", json.dumps(MANIFEST)))
    assert named
    assert named <= offered


def test_every_picture_named_is_there() -> None:
    named = set(re.findall(r'"(images/[\w.]+)"', json.dumps(MANIFEST)))
    named |= set(re.findall(r"\((images/[\w.]+)\)", (EXTENSION / "README.md").read_text(encoding="utf-8")))
    assert {name for name in named if not (EXTENSION / name).is_file()} == set()


def test_a_workspace_chooses_neither_where_text_and_key_go_nor_which_key() -> None:
    of_the_user_alone = {key for key, schema in GENERATED.items() if schema["scope"] == "machine"}
    assert of_the_user_alone == {"infill.model", "infill.apiKeyVariable"}


def test_doctor_looks_at_the_engine_that_is_set() -> None:
    source = (EXTENSION / "src" / "report.ts").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^const ENGINE_OPTIONS = \{(.*?)^\};", source, re.MULTILINE | re.DOTALL)
    options = dict(re.findall(r"(\w+): '(--[\w-]+)'", listed))
    of_the_engine = {field.name for field in fields(EngineChoice)}
    assert options.keys() == {key for key, setting in SETTINGS.items() if setting.field in of_the_engine}
    parser = ArgumentParser()
    add_commands(parser.add_subparsers().add_parser)
    given = [word for option in options.values() for word in (option, "int4")]
    read = vars(parser.parse_args(["doctor", *given]))
    assert [read[option[2:].replace("-", "_")] for option in options.values()] == ["int4"] * len(options)

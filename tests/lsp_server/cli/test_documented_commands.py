"""docs/command-line.md describes every command of `infill-ls` and each of its options."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lsp_server.cli import add_commands

PAGE = (Path(__file__).parents[3] / "docs" / "command-line.md").read_text()
ROWS = re.findall(r"^\| (`.*`.*?) \|", PAGE, re.MULTILINE)


def commands_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, found in action.choices.items():
                yield name, found
                yield from ((f"{name} {inner}", one) for inner, one in commands_of(found))


def described() -> dict[str, argparse.ArgumentParser]:
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers().add_parser)
    return dict(commands_of(parser))


@pytest.mark.parametrize("command", sorted(described()))
def test_every_command_and_its_options_are_described(command: str) -> None:
    parser = described()[command]
    if not any(isinstance(action, argparse._SubParsersAction) for action in parser._actions):
        assert any(row.startswith(f"`infill-ls {command}") for row in ROWS)
    options = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}
    assert {name for name in options - {"--help"} if not re.search(rf"[`\[ ]{name}\b", PAGE)} == set()

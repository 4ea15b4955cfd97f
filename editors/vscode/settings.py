"""Writes the settings that the server knows into package.json: `python editors/vscode/settings.py [--check]`.

Names, types, defaults and bounds come from `lsp_server.settings.schema`; this file holds only the descriptions.
A test runs `--check`.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from lsp_server.settings.schema import SECTION, SETTINGS, Setting

MANIFEST = Path(__file__).with_name("package.json")
SENTENCES = {
    "enable": "Offer candidates. *Infill: Toggle* changes this.",
    "languages": 'Where to offer them, by language identifier; `"*"` stands for the languages not named. '
    "*Infill: Toggle for Language* changes this.",
    "budgetMs": "Milliseconds from the editor's request to the answer. What is not finished by then is not shown.",
    "rewriteBudgetMs": "Milliseconds for a list of alternatives to code that is already there (*Refactor…*).",
    "candidates": "How many candidates to offer at most.",
    "eagerness": "How readily candidates appear unasked. *Infill: Choose Eagerness* says what each level costs. "
    "*Infill: Trigger* and *Infill: Pick Candidate* show less certain candidates as well.",
    "showThreshold": "The least confidence, from 0 to 1, with which the best candidate appears unasked, in place of "
    "`eagerness`.",
    "excludes": "Further files whose text the model never reads, as patterns in `.gitignore` syntax. Files that tend "
    "to hold secrets (`.env`, `*.pem`, `.ssh/` and more) are always among them; `!PATTERN` takes one of these back.",
    "searchProject": "Look for text like that around the cursor in files of the workspace that are not open, too.",
    "nextEdits": "After an edit, propose the other edits that it makes necessary: the uses of a renamed name, the "
    "calls of a function whose parameters changed. *Infill: Toggle Next Edits* changes this.",
    "lateAnswers": "Show what the model finds within a second and a half after an answer that showed nothing, and the "
    "rest of a text that is shown. Not on battery.",
    "completionFallback": "Whether to offer the candidates as ordinary completions too: `auto` does so for editors "
    "that know no ghost text, of which this is none.",
    "model": "The model: `default`, the path of a model's folder, or `OWNER/NAME` of a published one, which is fetched "
    "when it is first used. A server, such as `openai:https://host/v1#MODEL`, is sent the text around the cursor.",
    "apiKeyVariable": "The name of the environment variable that holds the key for a server given as the model.",
    "device": "Where the model runs: `auto`, `cpu`, `cuda`, `mps` or `mlx`.",
    "precision": "What the model computes in: `auto`, `bf16`, `fp16`, `fp32` or `int8`. With `int8` and `int4` the "
    "weights of a published model take a half or nearly a quarter of the memory; the default has no `int4`.",
    "reuseContext": "With models in which every token sees every other (Dream, LLaDA): keep what they have read of the "
    "text around the cursor. Much faster, and approximate.",
}
# What is typed, and a key, go to the server that the model names: a workspace's settings, even of one that is trusted,
# must choose neither where they go nor which of the user's secrets goes along.
OF_THE_USER_ALONE = ("model", "apiKeyVariable")


def main() -> None:
    """Write, or with `--check` only compare and fail if they differ."""
    parser = argparse.ArgumentParser(description="Writes the server's settings into package.json.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if package.json is out of date")
    options = parser.parse_args()
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
    group = manifest["contributes"]["configuration"][1]
    if group["properties"] == properties():
        return
    if options.check:
        sys.exit("The settings in package.json are out of date: run python editors/vscode/settings.py")
    group["properties"] = properties()
    MANIFEST.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def properties() -> dict[str, Any]:
    """The settings as VS Code wants them described, in the server's order."""
    return {
        f"{SECTION}.{key}": _described(key, setting, order) for order, (key, setting) in enumerate(SETTINGS.items(), 10)
    }


def _described(key: str, setting: Setting, order: int) -> dict[str, Any]:
    scope = "machine" if key in OF_THE_USER_ALONE else "window"
    schema: dict[str, Any] = {"order": order, "scope": scope}
    default, bounds = setting.default, setting.bounds
    if isinstance(default, bool):
        schema["type"] = "boolean"
    elif isinstance(default, int | float) or default is None:
        schema["type"] = ["number", "null"] if default is None else "integer" if isinstance(default, int) else "number"
        if bounds:
            schema["minimum"], schema["maximum"] = bounds
    elif isinstance(default, StrEnum):
        schema |= {"type": "string", "enum": [member.value for member in type(default)]}
    elif isinstance(default, str):
        schema["type"] = "string"
    elif isinstance(default, Mapping):
        schema["type"] = ["object", "array"]
        schema |= {"additionalProperties": {"type": "boolean"}, "items": {"type": "string"}}
    else:
        schema |= {"type": "array", "items": {"type": "string"}}
    return {**schema, "default": default, "markdownDescription": SENTENCES[key]}


if __name__ == "__main__":
    main()

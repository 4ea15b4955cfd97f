"""Write the server's settings into package.json: `python editors/vscode/settings.py [--check]`.

Names, types, defaults and bounds come from `lsp_server.settings.schema`. This file has only the descriptions.
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
    "languages": 'Where to offer candidates, by language identifier. `"*"` stands for all languages not named. '
    "*Infill: Toggle for Language* changes this.",
    "budgetMs": "Milliseconds for an answer while you type. Text that is not finished by then is not shown.",
    "explicitBudgetMs": "Milliseconds for an answer that you ask for: *Infill: Trigger*, *Infill: Pick Candidate* and "
    "alternatives (*Refactor…*). Never less than `budgetMs`.",
    "candidates": "The maximum number of candidates.",
    "eagerness": "How readily candidates appear unasked. *Infill: Choose Eagerness* says what each level costs. "
    "*Infill: Trigger* and *Infill: Pick Candidate* show less certain candidates as well.",
    "showThreshold": "The minimum confidence, from 0 to 1, at which the best candidate appears unasked. It replaces "
    "`eagerness`.",
    "excludes": "More files that the model never reads, as patterns in `.gitignore` syntax. Files that tend to hold "
    "secrets (`.env`, `*.pem`, `.ssh/` and more) are excluded already; `!PATTERN` allows one of them.",
    "searchProject": "Also search workspace files that are not open for code like that around the cursor.",
    "nextEdits": "After an edit, propose the other edits that it makes necessary, such as the uses of a renamed name "
    "or the calls of a function whose parameters changed. *Infill: Toggle Next Edits* changes this.",
    "nextEditModel": "Where nothing is necessary, let the model propose what else may follow from your last edits. It "
    "computes after each pause in typing, but not on battery. *Infill: Toggle Next Edits of the Model* changes this.",
    "lateAnswers": "If an answer showed nothing, show what the model finds within the next 1.5 seconds. A text that is "
    "shown may grow longer in that time. Off on battery.",
    "completionFallback": "Whether to offer candidates as ordinary completions, too. `auto` does so only in editors "
    "without ghost text, so not in this one.",
    "model": "The model: `default`, the path of a model's folder, or `OWNER/NAME` of a published one, which is "
    "downloaded when it is first used. If you name a server, such as `openai:https://host/v1#MODEL`, it receives the "
    "text around the cursor.",
    "apiKeyVariable": "The name of the environment variable that holds the key for a server given as the model.",
    "device": "Where the model runs: `auto`, `cpu`, `cuda`, `mps` or `mlx`.",
    "precision": "The number format that the model computes in: `auto`, `bf16`, `fp16`, `fp32` or `int8`. With `int8`, "
    "the weights of a published model take half of the memory, with `int4` about a quarter. The default model has no "
    "`int4`.",
}
# If the model is a server, it receives the user's text and key. A workspace, even a trusted one, must not choose the
# server or the key.
OF_THE_USER_ALONE = ("model", "apiKeyVariable")


def main() -> None:
    """Write, or with `--check` only compare and fail if they differ."""
    parser = argparse.ArgumentParser(description="Write the server's settings into package.json.")
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

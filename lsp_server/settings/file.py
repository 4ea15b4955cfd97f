"""The user's settings for all editors: a JSON object with the names of the editor's settings.

`infill-ls bench --apply` writes it, with the reason under "measured". What the editor sends takes precedence.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infill_engine.errors import InputError
from infill_engine.models.checkpoint.user_data import settings_file

MEASURED = "measured"  # why the settings are what they are; no setting
LARGEST_BYTES = 1_000_000


def read_file() -> tuple[dict[str, Any], str]:
    """Return the settings in the file, {} without one, and a warning if the file is unusable ("" otherwise)."""
    try:
        content = _content(settings_file())
    except InputError as error:
        return {}, f"infill-ls: {error} Until then its settings are ignored."
    return {key: value for key, value in content.items() if key != MEASURED}, ""


def over(own: Mapping[str, Any], editor: object) -> object:
    """Return the editor's settings object with those of the file where the editor has none, or has null."""
    if not own or not (editor is None or isinstance(editor, Mapping)):
        return editor
    return {**own, **{key: value for key, value in (editor or {}).items() if value is not None}}


def measured_reason() -> str:
    """Return why the settings were chosen, as it was recorded; "" if nothing was measured."""
    try:
        measured = _content(settings_file()).get(MEASURED)
    except InputError:
        return ""
    return str(measured.get("reason", "")) if isinstance(measured, Mapping) else ""


def write_file(settings: Mapping[str, object], measured: Mapping[str, object]) -> Path:
    """Change some settings in the file and record why. Keep the others. Return the file's path.

    The file is replaced at once, so that a server never reads half of it. Raises InputError if the present file is not
    a JSON object, or if it cannot be written.
    """
    path = settings_file()
    content = {**_content(path), **settings, MEASURED: dict(measured)}
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(fresh, path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise InputError(f"{path} cannot be written ({error.strerror}); check its permissions") from error
    return path


def _content(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check its permissions.") from error
    try:
        content = json.loads(data)
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}); fix or remove it.") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} does not contain a JSON object; fix or remove it.")
    return content

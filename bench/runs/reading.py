"""Reads the results of a run."""

import json
from pathlib import Path

from infill_engine.diagnostics.benchmark.results import FORMAT, NAME, Record, Results
from infill_engine.errors import InputError


def read_results(path: Path) -> Results:
    """Return the results in a file or its folder. Raises InputError for anything else, or another format.

    A last line that was cut is left out.
    """
    path = path / NAME if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        detail = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"{path} cannot be read ({detail}); give the folder or file of a benchmark run") from error
    header, *lines = [_parsed(line) for line in text.split("\n")]
    if header is None or header["record"] != "run":
        raise InputError(f"{path} holds no results of a benchmark run; give the folder that `infill-ls bench` named")
    if header["format"] != FORMAT:
        raise InputError(
            f"{path} has results of format {header['format']} (infill-ls {header['version']}), and this version reads "
            f"format {FORMAT}; measure again with the same version on both sides"
        )
    return Results(path, header, [line for line in lines if line is not None])


def _parsed(line: str) -> Record | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) and "record" in value else None

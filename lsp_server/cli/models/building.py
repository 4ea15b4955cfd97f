"""Builds the default model's weights from the published file: for `infill-ls models get`, and for the server.

`python -m lsp_server.cli.models.building`, which the server starts, fetches the file and writes one JSON object a line:
{"doing", "share"} as it goes on, and at the end {"folder", "built"} or {"error"}. It may be killed at any time, and the
next one continues where it stopped.
"""

import json
import sys
import time
from pathlib import Path

from infill_engine.errors import InfillError, InputError, ModelDamagedError, ModelError
from infill_engine.models.checkpoint.download import address_of, fetch_file
from infill_engine.models.checkpoint.user_data import trunk_folder
from infill_engine.models.trunk.files import folder, published_file
from infill_engine.process import Report
from infill_engine.serving.runtime_files import locked

LINE_SECONDS = 0.1  # between two lines of progress
FETCHED, CHECKED = 0.7, 0.75  # shares of the whole


def intact_folder() -> Path | None:
    """Return the folder that has all of the weights undamaged, the package's or the user's; None if neither has."""
    for each in (folder.TRUNK_FOLDER, trunk_folder()):
        try:
            folder.verify_shards(each)
        except ModelDamagedError:
            continue
        return each
    return None


def build(file: Path | None, report: Report, *, download: bool) -> list[str]:
    """Build the weights from `file` or, if that is None, from the one that was or may be downloaded.

    Return the names of the shards that were missing. Raises ModelError, or InputError if the disk is full.
    """
    from infill_engine.models.trunk.files import convert

    source, home = published_file.PUBLISHED, trunk_folder()
    path = file or home.with_name(source.file)
    fetched = file is None and not path.is_file()
    if fetched and not download:
        raise InputError(
            f"the default model's weights are built from {source.file} ({source.size / 1e6:,.0f} MB, Apache-2.0). "
            f"Fetch it from {source.address} and give it with `--from FILE`, or let `--download` fetch it"
        )
    try:
        with locked(home, 0):
            if fetched:
                address = address_of(source.repository, source.file)
                fetch_file(address, path, source.size, published_file.SHARDS_BYTES, _part(report, 0.0, FETCHED))
            built = convert.convert(path, home, convert.released(), _steps(report))
    except TimeoutError as error:
        raise InputError("the default model is being built by another program; wait for it") from error
    except OSError as error:
        raise InputError(
            f"the weights cannot be written to {home} ({error.strerror or error}); make room or check its "
            "permissions, and try again: it continues where it stopped"
        ) from error
    except ModelDamagedError as error:
        if file is not None:
            raise
        path.unlink(missing_ok=True)
        raise ModelError(f"{path} was not the published file and has been removed; download it again") from error
    if fetched:
        path.unlink(missing_ok=True)
    return built


def now_and_then(report: Report, seconds: float) -> Report:
    """Return a report that is made at most once in so many seconds."""
    due = 0.0

    def reported(doing: str, share: float) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + seconds
            report(doing, share)

    return reported


def main() -> int:
    """Fetch and build. Return the exit status."""
    report = now_and_then(lambda doing, share: _say(doing=doing, share=round(share, 4)), LINE_SECONDS)
    try:
        present = intact_folder()
        built = [] if present else build(None, report, download=True)
    except InfillError as error:
        _say(error=str(error))
        return 1
    _say(folder=str(present or trunk_folder()), built=built)
    return 0


def _steps(report: Report) -> Report:
    """Return a report of a conversion: checking the file, then building."""
    checking, building = _part(report, FETCHED, CHECKED), _part(report, CHECKED, 1.0)
    return lambda doing, share: (checking if doing.startswith("checking") else building)(doing, share)


def _part(report: Report, begin: float, end: float) -> Report:
    return lambda doing, share: report(doing, begin + (end - begin) * share)


def _say(**what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    sys.exit(main())

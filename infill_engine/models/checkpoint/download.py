"""Fetches one published file over HTTP. What was received is kept, and the next attempt continues from there."""

import errno
import http.client
import os
import shutil
import ssl
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import IO

from infill_engine.errors import ModelError
from infill_engine.process import Report

ENDPOINT, OFFLINE = "HF_ENDPOINT", "HF_HUB_OFFLINE"  # environment variables of the hub's own library
USUAL_ENDPOINT = "https://huggingface.co"
PARTIAL = ".part"
PAUSES = (0.5, 1.0, 2.0, 4.0)  # seconds before further attempts, while none of them receives anything
SILENT_SECONDS = 30.0  # without a byte, after which the connection counts as broken
_CHUNK = 1 << 18
_BROKEN = (OSError, http.client.HTTPException)  # of a connection; those of the disk are told apart by where they arise


def address_of(repository: str, file: str) -> str:
    """Return where a file of a published model is fetched from."""
    return f"{os.environ.get(ENDPOINT, USUAL_ENDPOINT).rstrip('/')}/{repository}/resolve/main/{file}"


def fetch_file(address: str, path: Path, size: int, more_bytes: int, report: Report) -> None:
    """Fetch a file of `size` bytes to `path`, unless it is there. `more_bytes` of disk are needed afterwards.

    Raises ModelError, whose text says what to do.
    """
    if path.is_file() and path.stat().st_size == size:
        return
    partial = path.with_name(path.name + PARTIAL)
    _make_room(partial, size, more_bytes)
    by_hand = f"Or fetch {path.name} yourself from {address}, put it into {path.parent}, and download again"
    if os.environ.get(OFFLINE, "").upper() in ("1", "ON", "YES", "TRUE"):
        raise ModelError(f"{OFFLINE} forbids fetching {path.name}: unset it. {by_hand}")
    pauses = iter(PAUSES)
    while (before := _size(partial)) < size:
        try:
            _fetch_rest(address, partial, size, report)
        except _BROKEN as error:
            if isinstance(error, urllib.error.HTTPError) and error.code < 500:  # another attempt would bring the same
                raise ModelError(f"{path.name} cannot be fetched: {address} answers {error.code}. {by_hand}") from error
            pause = PAUSES[0] if _size(partial) > before else next(pauses, None)
            if pause is None:
                raise ModelError(
                    f"{path.name} cannot be fetched ({_reason(error)}): check the connection and download again; what "
                    f"was received is kept. {by_hand}"
                ) from error
            time.sleep(pause)
    partial.replace(path)


def _fetch_rest(address: str, partial: Path, size: int, report: Report) -> None:
    """Append what is missing of a file. Raises ModelError for the disk, and one of `_BROKEN` for the connection."""
    start = _size(partial)
    request = urllib.request.Request(address, headers={"Range": f"bytes={start}-"} if start else {})
    with urllib.request.urlopen(request, timeout=SILENT_SECONDS, context=_certificates()) as answer:
        if start and not answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            start = 0  # it is sent from the beginning
        with _opened(partial, "ab" if start else "wb") as file:
            while start < size and (chunk := answer.read1(min(_CHUNK, size - start))):
                try:
                    file.write(chunk)
                except OSError as error:
                    raise _not_taken(partial, error) from error
                start += len(chunk)
                report(f"fetching {partial.stem}, {start / 1e6:,.0f} of {size / 1e6:,.0f} MB", start / size)
    if start < size:
        raise ConnectionError("the connection broke")


def _opened(path: Path, mode: str) -> IO[bytes]:
    try:
        return path.open(mode, buffering=0)
    except OSError as error:
        raise _not_taken(path, error) from error


def _make_room(partial: Path, size: int, more_bytes: int) -> None:
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
        missing = size - _size(partial) + more_bytes - shutil.disk_usage(partial.parent).free
    except OSError as error:
        raise _not_taken(partial, error) from error
    if missing > 0:
        raise ModelError(f"the disk is too full: make room for {missing / 1e6:,.0f} MB more in {partial.parent}")


def _not_taken(partial: Path, error: OSError) -> ModelError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return ModelError(
            f"the disk is full: make room in {partial.parent} and download again; what was received is kept"
        )
    return ModelError(f"{partial.parent} cannot be written ({error.strerror or error}); check its permissions")


def _certificates() -> ssl.SSLContext:
    """Return the system's certificates, and those of the certifi library: some builds of Python come without any."""
    context = ssl.create_default_context()
    with suppress(ImportError):
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _reason(error: BaseException) -> str:
    reason = getattr(error, "reason", error)
    return getattr(reason, "strerror", None) or str(reason) or type(error).__name__

"""From a URI to a path as this system writes it. The one place where that happens."""

import os
import re
from urllib.parse import unquote, urlsplit

_DRIVE = re.compile(r"\A/([A-Za-z]):(?=/|\Z)")


def path_of(uri: str, *, windows: bool = os.name == "nt") -> str:
    """The path in a URI, decoded, whatever its scheme; "" when it has none or is no URI.

    On Windows without the slash before a drive, whose letter is a capital: editors do not agree on that, and equal
    folders are to be equal texts.
    """
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path)
    except ValueError:
        return ""
    if not windows:
        return path
    if parts.scheme == "file" and parts.netloc:
        return f"//{unquote(parts.netloc)}{path}"  # a share
    return _DRIVE.sub(lambda found: f"{found[1].upper()}:", path)

"""Core files would hold the user's text."""

import sys


def write_no_core_files() -> None:
    """Keep this process and those that it starts from writing core files."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

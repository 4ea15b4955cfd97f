"""Pages that come fresh from the system are counted, in a process of their own for each way."""

import platform
import subprocess
import sys

import pytest

PAGES = 16 * 2**20 // 4096
USE_AND_FREE = """
import resource
from infill_engine.models.runtime.allocator import recycle_freed, release_freed
{first}
for _ in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    bytearray(16 * 2**20)
    {then}
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def fresh_pages(first: str, then: str) -> int:
    """How many pages a block of 16 MiB takes from the system when one like it has just been freed."""
    code = USE_AND_FREE.format(first=first, then=then)
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's heap")
def test_freed_memory_is_kept_or_given_back() -> None:
    assert fresh_pages("recycle_freed()", "") < 0.1 * PAGES
    assert fresh_pages("recycle_freed()", "release_freed()") > 0.9 * PAGES

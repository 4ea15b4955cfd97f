"""Real Python to measure on: wheels of packages that no model here was trained on.

Wheels are read in place; nothing is installed and none of their code runs.
"""

import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from bench.replay.sources import SourceFile, decoded
from infill_engine.errors import InputError


def download(packages: Sequence[str], folder: Path) -> list[str]:
    """Download one wheel per package that is not in `folder` yet. Return the packages without a wheel."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
    missing = []
    for package in packages:
        if not list(folder.glob(f"{package.replace('-', '_')}-*.whl")):
            ran = subprocess.run(
                [*command, "--only-binary=:all:", "-d", str(folder), package], capture_output=True, check=False
            )
            if ran.returncode:
                missing.append(package)
    return missing


def read_packages(folder: Path) -> list[SourceFile]:
    """Return the Python files of every wheel and subfolder in `folder`, sorted. Raises InputError if there are none."""
    found: list[SourceFile] = []
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            package = wheel.name.split("-")[0].lower()
            members = ((name, archive.read(name)) for name in sorted(archive.namelist()) if name.endswith(".py"))
            found += decoded(package, members)
    for sub in sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ():
        paths = sorted(sub.rglob("*.py"))
        found += decoded(sub.name.lower(), ((str(path.relative_to(sub)), path.read_bytes()) for path in paths))
    if not found:
        raise InputError(
            f"no Python files in {folder}: fetch them with `python -m bench.quality.problems.holes --download {folder}`"
        )
    return found


def read_folder(package: Path) -> list[SourceFile]:
    """Return all text files in a package's folder, by path."""
    paths = sorted(path for path in package.rglob("*") if path.is_file() and not path.is_symlink())
    name = package.name.lower()
    return list(decoded(name, ((str(path.relative_to(package)), path.read_bytes()) for path in paths)))

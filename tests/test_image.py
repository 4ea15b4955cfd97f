"""The image in deploy/ copies what the package is built from."""

import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]


def test_the_image_copies_what_the_package_is_built_from() -> None:
    lines = (REPOSITORY / "deploy" / "Dockerfile").read_text().splitlines()
    copied = {name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]}
    assert not [name for name in copied if not (REPOSITORY / name).exists()]
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    needed = {
        "pyproject.toml",
        project["project"]["readme"],
        *project["project"]["license-files"],
        *project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"],
    }
    assert needed <= copied
    (installed,) = (found[1] for line in lines if (found := re.search(r'pip install .*"\.\[(\w+)\]"', line)))
    assert installed in project["project"]["optional-dependencies"]

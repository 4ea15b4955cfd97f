"""Downloads packages of many languages with permissive licences to measure on, and lists them in a manifest.

    python -m bench.quality.problems.fetch_languages --out training/held-out-languages
    python -m bench.quality.problems.fetch_languages --list calibration --out training/calibration-languages

Packages are only unpacked; none of their code runs. The text is used for measurements here and is not redistributed.
"""

import argparse
import json
import sys
import tempfile
import tomllib
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from infill_engine.errors import InputError
from infill_engine.text.languages import language
from train.corpus.packages import download, licence_of, read_archive, usable

LISTS = {
    "held-out": Path(__file__).with_name("held_out_languages.toml"),  # reported on
    "calibration": Path(__file__).with_name("calibration_languages.toml"),  # fitted on and developed with
    "next-edits": Path(__file__).with_name("next_edit_languages.toml"),  # next edits are reported on these
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """One package of the manifest. `trouble` says why it was left out, or is ""."""

    language: str
    name: str
    kind: str
    archive: str = ""
    licence: str = ""
    files: int = 0
    characters: int = 0
    trouble: str = ""


def fetch(identifier: str, kind: str, name: str, out: Path) -> Fetched:
    """Download one package and write its files in one language to `out`, if its licence permits."""
    fetched = Fetched(identifier, name, kind)
    with tempfile.TemporaryDirectory() as folder:
        try:
            archives = download(kind, name, Path(folder))
        except InputError as error:
            return replace(fetched, trouble=str(error))
        members = {path: data for archive in archives for path, data in read_archive(archive)}
    licence = licence_of(members)
    files = characters = 0
    for path, data in sorted(members.items()):
        text = usable(path, data, identifier) if licence.permits(path) else None
        if text is not None:
            target = out / identifier / name.replace("/", "-").lstrip("@") / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            files, characters = files + 1, characters + len(text)
    trouble = "" if files else f"no usable file under a permissive licence ({licence.name or 'none stated'})"
    return replace(
        fetched, archive=archives[0].name, licence=licence.name, files=files, characters=characters, trouble=trouble
    )


def listed(name: str) -> dict[str, dict[str, list[str]]]:
    """Return the packages of a list in LISTS, by language and kind."""
    return tomllib.loads(LISTS[name].read_text())


def main() -> int:
    """Download the listed packages. Return the exit status."""
    parser = argparse.ArgumentParser(description="Fetch packages of many languages to measure on.")
    parser.add_argument("--out", type=Path, required=True, help="folder for the text, and manifest.json in it")
    parser.add_argument("--list", choices=LISTS, default="held-out")
    parser.add_argument("--only", nargs="+", default=[], metavar="LANGUAGE")
    options = parser.parse_args()
    packages = listed(options.list)
    wanted = [language(each).id for each in options.only] or list(packages)
    unknown = sorted(set(wanted) - set(packages))
    if unknown:
        raise InputError(f"no packages are listed for {', '.join(unknown)}; add some to {LISTS[options.list].name}")
    manifest = []
    for identifier in wanted:
        for kind, names in packages[identifier].items():
            for name in names:
                fetched = fetch(identifier, kind, name, options.out)
                manifest.append(fetched)
                print(f"{identifier}: {name}: {fetched.trouble or f'{fetched.files} files, {fetched.licence}'}")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "manifest.json").write_text(json.dumps([asdict(each) for each in manifest], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

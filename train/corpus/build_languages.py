"""Builds a training corpus of many languages: permissive licences, no copies, with a manifest.

    python -m bench.quality.problems.fetch_languages --out training/held-out-languages  # first; copies are left out
    python -m train.corpus.build_languages --out training/corpus-languages \\
        --held-out training/held-out-languages training/calibration-languages

`languages.toml` lists the packages. `corpus.jsonl` gets lines of `{"package", "path", "language", "text"}`. A language
gets about `CHARACTERS`. Within a language, the large packages get equal shares and the small ones are used whole.
"""

import argparse
import json
import random
import sys
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path

from infill_engine.errors import InputError
from infill_engine.text.languages import language
from train.corpus.build import Seen, is_worth_learning
from train.corpus.leaks import HeldOut
from train.corpus.packages import download, licence_of, read_archive, usable

LIST = Path(__file__).with_name("languages.toml")
CHARACTERS = 4_000_000  # of each language
SEED = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """One package of the list, in one language."""

    language: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the manifest. `left_out` says why nothing of the package is used, or is ""."""

    language: str
    package: str
    kind: str
    archive: str = ""
    licence: str = ""
    files: int = 0
    characters: int = 0
    copies: int = 0
    held_out_files: int = 0
    left_out: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("training/corpus-languages"))
    parser.add_argument("--held-out", type=Path, nargs="+", default=[Path("training/held-out-languages")])
    parser.add_argument("--only", nargs="+", default=[], metavar="LANGUAGE")
    parser.add_argument("--characters", type=int, default=CHARACTERS, help="of each language")
    options = parser.parse_args()
    held_out = HeldOut(text for folder in options.held_out for text in _texts(folder))
    if not held_out:
        sys.exit(f"no text in {options.held_out[0]}: without it, copies of held-out files would be learned")
    wanted = {language(each).id for each in options.only}
    packages = [each for each in listed() if not wanted or each.language in wanted]
    options.out.mkdir(parents=True, exist_ok=True)
    build(packages, options.out, held_out=held_out, characters=options.characters)


def listed() -> list[Listed]:
    """Return the packages of the list."""
    return [
        Listed(identifier, kind, name)
        for identifier, kinds in tomllib.loads(LIST.read_text()).items()
        for kind, names in kinds.items()
        for name in names
    ]


def build(packages: Sequence[Listed], out: Path, *, held_out: HeldOut, characters: int) -> None:
    """Download the packages to `out` and write `corpus.jsonl` and `manifest.json`."""
    with ThreadPoolExecutor(4) as pool:
        sources = dict.fromkeys((package.kind, package.name) for package in packages)
        troubles = dict(pool.map(lambda source: _download(source, out), sources))
    seen = Seen()
    manifest: list[Entry] = []
    unfinished = out / "corpus.jsonl.part"
    with unfinished.open("w", encoding="utf-8") as corpus:
        for identifier, group in groupby(packages, key=lambda package: package.language):
            read = []
            for package in group:
                trouble = troubles[package.kind, package.name]
                entry = Entry(identifier, package.name, package.kind, left_out=trouble)
                read.append((entry, []) if trouble else _read(entry, out, held_out, seen))
            most = largest_share([sum(len(text) for _, text in texts) for _, texts in read], characters)
            for entry, texts in read:
                chosen = _first(texts, most)
                for path, text in chosen:
                    line = {"package": entry.package, "path": path, "language": identifier, "text": text}
                    corpus.write(json.dumps(line) + "\n")
                manifest.append(replace(entry, files=len(chosen), characters=sum(len(text) for _, text in chosen)))
            found = [entry for entry in manifest if entry.language == identifier and entry.files]
            total = sum(entry.characters for entry in found)
            print(f"{identifier}: {total / 1e6:.1f} M characters from {len(found)} packages", flush=True)
    unfinished.replace(out / "corpus.jsonl")  # a trainer may be reading the old one
    (out / "manifest.json").write_text(json.dumps([asdict(entry) for entry in manifest], indent=1) + "\n")


def largest_share(sizes: Sequence[int], total: int) -> int:
    """Return the limit that cuts the sum of the sizes to `total`; the largest size if the sum is smaller."""
    left = total
    for number, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - number)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def _first(texts: list[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """Return as many texts, in order, as have no more than `most` characters together."""
    chosen, total = [], 0
    for path, text in texts:
        if total + len(text) <= most:
            chosen.append((path, text))
            total += len(text)
    return chosen


def _folder(out: Path, kind: str, name: str) -> Path:
    return out / "packages" / kind / name.replace("/", "-").lstrip("@")


def _download(source: tuple[str, str], out: Path) -> tuple[tuple[str, str], str]:
    """Return the package and why it could not be downloaded, or ""."""
    try:
        download(*source, _folder(out, *source))
    except InputError as error:
        return source, str(error)
    return source, ""


def _read(entry: Entry, out: Path, held_out: HeldOut, seen: Seen) -> tuple[Entry, list[tuple[str, str]]]:
    """Return what the manifest says of a package, and its usable files in a random but fixed order."""
    archives = download(entry.kind, entry.package, _folder(out, entry.kind, entry.package))
    members = {path: data for archive in archives for path, data in read_archive(archive)}
    licence = licence_of(members)
    texts, copies, leaked = [], 0, 0
    for path in sorted(members):
        text = usable(path, members[path], entry.language) if licence.permits(path) else None
        if text is None or not is_worth_learning(path, text, entry.language):
            continue
        if held_out.objection(text):
            leaked += 1
        elif seen.is_copy(text):
            copies += 1
        else:
            texts.append((path, text))
    random.Random(SEED).shuffle(texts)
    reason = "" if texts else "no usable file under a permissive licence"
    entry = replace(entry, archive=archives[0].name, licence=licence.name, left_out=reason)
    return replace(entry, copies=copies, held_out_files=leaked), texts


def _texts(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "manifest.json":
            yield path.read_text(encoding="utf-8", errors="replace")


if __name__ == "__main__":
    main()

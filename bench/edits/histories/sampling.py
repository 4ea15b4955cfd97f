"""Draws examples of version histories: as many with a next edit as without, in files that were edited or were not."""

import random
from collections import defaultdict
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from bench.edits.histories.examples import is_edited
from bench.json_lines import places, read_at


def sample(path: Path, each: int, seed: int) -> list[dict[str, Any]]:
    """Return `each` examples with a next edit in a file that has been edited, and as many without, evenly drawn.

    They alternate, so that a run that was stopped has as many of both.
    """
    chance = random.Random(seed)
    orders: dict[bool, list[tuple[float, int]]] = {True: [], False: []}
    found: list[list[dict[str, Any]]] = []
    with path.open("rb") as lines:
        for at, line in places(lines):
            orders[b'"kind": "edit"' in line].append((chance.random(), at))
        for order in orders.values():
            usable = (example for _, at in sorted(order) if is_edited(example := read_at(lines, at)))
            found.append(list(islice(usable, each)))
    return _in_turn(*found)


def sample_elsewhere(path: Path, each: int, seed: int) -> list[dict[str, Any]]:
    """Return `each` examples with a next edit in a file that has not been edited yet, and as many without.

    In the latter, a commit is finished, and the file is another one of the same repository and language, as it is in
    some other commit.
    """
    chance = random.Random(seed)
    edits: list[int] = []
    finished: list[tuple[int, str, tuple[str, str], set[str]]] = []
    files: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    with path.open("rb") as lines:
        for at, _ in list(places(lines)):
            example = read_at(lines, at)
            group = example["repository"], example["language"]
            files[group].setdefault(example["path"], at)
            if example["kind"] == "edit" and not is_edited(example):
                edits.append(at)
            elif example["kind"] == "finished":
                edited = {edit["path"] for edit in example["history"]}
                finished.append((at, example["path"], group, edited))
        drawn = [read_at(lines, at) for at in chance.sample(edits, min(each, len(edits)))]
        silent: list[dict[str, Any]] = []
        for at, own, group, edited in chance.sample(finished, len(finished)):
            others = sorted(other for other in files[group] if other != own and other not in edited)
            if others and len(silent) < each:
                other = chance.choice(others)
                text = read_at(lines, files[group][other])["text"]
                silent.append(read_at(lines, at) | {"path": other, "text": text})
    return _in_turn(silent, drawn)


def _in_turn(*found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [example for pair in zip_longest(*found) for example in pair if example is not None]

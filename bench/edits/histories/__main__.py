"""Makes examples of next edits from the version histories of permissively licensed repositories.

    python -m bench.edits.histories --repositories FOLDER --out training/histories

FOLDER has git directories named `owner+name`. What is made is for training and measuring here and is not redistributed.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.edits.histories.commits import commits
from bench.edits.histories.examples import examples
from bench.edits.histories.repositories import SPLITS, Repository, git, repositories
from infill_engine.text.languages import Support, all_entries
from train.corpus.leaks import HeldOut

EACH = 1000  # examples of one repository


def main() -> None:
    """Write `train.jsonl`, `calibration.jsonl`, `held-out.jsonl` and `manifest.jsonl`."""
    parser = argparse.ArgumentParser(prog="python -m bench.edits.histories", description=__doc__.split("\n")[0])
    parser.add_argument("--repositories", type=Path, required=True, help="folder of git directories")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--each", type=int, default=EACH, help=f"examples of a repository (default: {EACH})")
    parser.add_argument("--heldout", type=Path, default=Path("training/heldout"), help="wheels to keep copies of out")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    held_out = HeldOut.read(options.heldout)
    with ExitStack() as files:
        out = {
            name: files.enter_context((options.out / f"{name}.jsonl").open("w", encoding="utf-8"))
            for name in (*SPLITS, "manifest")
        }
        for repository in repositories(options.repositories):
            made = list(_made(repository, options.each, held_out)) if repository.licence else []
            for example in made:
                out[repository.split].write(json.dumps(example, ensure_ascii=False) + "\n")
            entry = _entry(repository, made)
            out["manifest"].write(json.dumps(entry, ensure_ascii=False) + "\n")
            print(json.dumps(entry), flush=True)


def _made(repository: Repository, most: int, held_out: HeldOut) -> Iterator[dict[str, Any]]:
    full = [entry.id for entry in all_entries() if entry.support is Support.FIRST]
    count = 0
    for commit in commits(repository.folder, full):
        if any(held_out.objection(file.text) for file in commit.files):
            continue
        for example in examples(commit):
            yield {"repository": repository.name, "commit": commit.id, "split": repository.split, **example}
            count += 1
            if count == most:
                return


def _entry(repository: Repository, made: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "repository": repository.name,
        "head": git(repository.folder, "rev-parse", "HEAD").strip(),
        "licence": repository.licence,
        "split": repository.split,
        "kinds": Counter(example["kind"] for example in made),
        "languages": Counter(example["language"] for example in made),
    }


if __name__ == "__main__":
    main()

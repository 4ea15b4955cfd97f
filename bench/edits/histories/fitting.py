"""Fits the weights of `infill_engine.edits.similar.likelihood` on examples of version histories, and prints them.

    python -m bench.edits.histories.fitting --histories training/histories --each 2500

Half of the examples are in files that have been edited, half in others. A place counts as right if the commit changes
it in the same way, or nearly. A text in which a commit is finished counts for more than one, because finished texts
are what people look at most of the time.
"""

import argparse
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from bench.edits.case import faults
from bench.edits.histories.commits import Hunk
from bench.edits.histories.examples import earlier_texts
from bench.edits.histories.measuring import judged
from bench.edits.histories.sampling import sample, sample_elsewhere
from bench.edits.histories.systems import edited_texts
from bench.logistic_regression import Floats, fitted, logistic
from infill_engine.edits.find import find_consequences
from infill_engine.edits.finders.similar_places import similar_places
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.similar.likelihood import WEIGHTS, SimilarPlace
from infill_engine.edits.types import Edit, MayAsk, applied

NEARLY = 75  # chrF of the changed lines
FINISHED = 1.7
RIDGE = 1.0


def main() -> None:
    """Fit on two splits together, and print the weights and how often places of each confidence are right."""
    parser = argparse.ArgumentParser(prog="python -m bench.edits.histories.fitting", description=__doc__.split("\n")[0])
    parser.add_argument("--histories", type=Path, required=True)
    parser.add_argument("--splits", nargs="+", default=["train", "calibration"])
    parser.add_argument("--each", type=int, default=2500, help="examples of each kind from each split")
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    found: list[SimilarPlace] = []
    right, counts = [], []
    for split in options.splits:
        file = options.histories / f"{split}.jsonl"
        edited, elsewhere = sample(file, options.each, options.seed), sample_elsewhere(file, options.each, options.seed)
        for example in chain(edited, elsewhere):
            for place in _places(example):
                found.append(place)
                right.append(_is_right(example, place))
                counts.append(1.0 if example["kind"] == "edit" else FINISHED)
    names = list(WEIGHTS)
    features = np.array([[place.features.get(name, 0.0) for name in names] for place in found])  # [N, F]
    weights = fit(features, np.array(right, float), np.array(counts))
    for name, weight in zip(names, weights, strict=True):
        print(f'    "{name}": {weight:.2f},')
    sure = logistic(features @ weights)
    for low in np.arange(0, 1, 0.1):
        rows = (sure >= low) & (sure < low + 0.1)
        if rows.any():
            print(f"{low:.1f} {rows.sum()} {np.average(np.array(right)[rows], weights=np.array(counts)[rows]):.2f}")


def fit(features: Floats, right: Floats, counts: Floats) -> Floats:
    """Return the weights [F] of features [N, F]; they include the constant one."""
    return fitted(features, right, np.full(features.shape[1], RIDGE), counts)


def is_right(change: dict[str, Any]) -> bool:
    """Return whether a change that was judged is the commit's, or nearly."""
    return bool(change["exact"] or (change["touches"] and change["chrf"] >= NEARLY))


def _places(example: dict[str, Any]) -> Iterator[SimilarPlace]:
    """Yield the places of the newest edit, then those that are found if the ones before it are seen as one with it."""
    texts = [] if example["text"] in set(earlier_texts(example)) else edited_texts(example)
    if not texts or find_consequences(texts[0]).may_ask is not MayAsk.MODEL:
        return
    seen: set[tuple[Edit, ...]] = set()
    faulty = faults(example["text"], example["language"])
    for edited in texts:
        parsed = ParsedEdit.of(edited)
        for place in () if parsed is None else similar_places(parsed):
            result = None if place.edits in seen else applied(edited.after, place.edits)
            seen.add(place.edits)
            if result is not None and faults(result, edited.language) <= faulty:
                yield place


def _is_right(example: dict[str, Any], place: SimilarPlace) -> bool:
    if not example["rest"]:
        return False
    return is_right(judged(example["text"], [Hunk(**hunk) for hunk in example["rest"]], place.edits))


if __name__ == "__main__":
    main()

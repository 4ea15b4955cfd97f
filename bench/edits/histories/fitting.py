"""Fits the weights of `infill_engine.edits.likelihood` on examples of version histories, and prints them.

    python -m bench.edits.histories.fitting --histories training/histories --each 2500

A place counts as right if the commit changes it in the same way, or nearly. A text in which a commit is finished counts
for more than one, because finished texts are what people look at most of the time.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.edits.histories.commits import Hunk
from bench.edits.histories.examples import earlier_texts
from bench.edits.histories.measuring import judged, sample
from bench.edits.histories.systems import edited_texts
from bench.logistic_regression import Floats, fitted, logistic
from infill_engine.edits.changes import Shift
from infill_engine.edits.finders.propagation import Place, places
from infill_engine.edits.parsed import ParsedEdit
from infill_engine.edits.source import Source

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
    found: list[Place] = []
    right, counts = [], []
    for split in options.splits:
        for example in sample(options.histories / f"{split}.jsonl", options.each, options.seed):
            for place in _places(example):
                found.append(place)
                right.append(_is_right(example, place))
                counts.append(1.0 if example["kind"] == "edit" else FINISHED)
    names = list(found[0].features)
    features = np.array([[place.features[name] for name in names] for place in found])  # [N, F]
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


def _places(example: dict[str, Any]) -> Iterator[Place]:
    texts = [] if example["text"] in set(earlier_texts(example)) else edited_texts(example)
    before = Source.parse(texts[-1].before, texts[-1].language) if texts else None
    if before is not None:
        edited = texts[-1]
        after = before.changed(edited.after, edited.changes)
        yield from places(ParsedEdit(before, after, edited.changes, Shift(edited.changes), edited.history))


def _is_right(example: dict[str, Any], place: Place) -> bool:
    if not example["rest"]:
        return False
    return is_right(judged(example["text"], [Hunk(**hunk) for hunk in example["rest"]], place.edits))


if __name__ == "__main__":
    main()

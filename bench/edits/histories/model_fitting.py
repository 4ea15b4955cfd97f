"""Fits the weights of `infill_engine.ranking.rewrites` on what the model proposes for examples, and prints them.

    python -m bench.edits.histories.model_fitting --histories training/histories --rows FILE --each 200
    python -m bench.edits.histories.model_fitting --rows FILE [--test FILE]

The first command asks the model and adds rows to a file; it goes on where it stopped. The second one fits.
"""

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.edits.case import faults
from bench.edits.histories.commits import Hunk
from bench.edits.histories.examples import earlier_texts
from bench.edits.histories.fitting import FINISHED, fit, is_right
from bench.edits.histories.measuring import judged
from bench.edits.histories.repositories import SPLITS
from bench.edits.histories.sampling import sample
from bench.edits.histories.systems import is_settled, question
from infill_engine.budget.work import finished
from infill_engine.edits.by_model.proposals import proposal_of
from infill_engine.edits.by_model.regions import regions
from infill_engine.edits.types import Region, ScoredChange, applied
from infill_engine.engine.engine import Engine
from infill_engine.engine.engine_loading import load_engine
from infill_engine.ranking.rewrites import BY_HAND, features_of, probability, takes_back

THRESHOLDS = (0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7)


def main() -> None:
    """Collect rows, or fit on them."""
    parser = argparse.ArgumentParser(prog="python -m bench.edits.histories.model_fitting", description=__doc__)
    parser.add_argument("--histories", type=Path, help="folder of examples to ask the model about")
    parser.add_argument("--split", choices=SPLITS, default="calibration")
    parser.add_argument("--each", type=int, default=200, help="examples with and without a next edit")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--model", default="default")
    parser.add_argument("--rows", type=Path, required=True, help="JSON lines, one for each example")
    parser.add_argument("--test", type=Path, help="rows to test the weights on")
    options = parser.parse_args()
    if options.histories is not None:
        examples = sample(options.histories / f"{options.split}.jsonl", options.each, options.seed)
        collect(examples, load_engine(options.model), options.rows, options.seed)
        return
    weights = fit_rows(_read(options.rows))
    for name, weight in weights.items():
        print(f'    "{name}": {weight:.2f},')
    for file in filter(None, (options.rows, options.test)):
        print_thresholds(_read(file), weights)


def collect(examples: list[dict[str, Any]], engine: Engine, out: Path, seed: int) -> None:
    """Add a row for each example that the file does not have yet."""
    random.Random(seed).shuffle(examples)
    known = len(_read(out)) if out.exists() else 0
    with out.open("a", encoding="utf-8") as file:
        for example in examples[known:]:
            asked = not is_settled(example)
            row = {name: example[name] for name in ("repository", "commit", "path", "language", "kind")}
            row |= {"asked": asked, "rows": list(changes_of(example, engine)) if asked else []}
            file.write(json.dumps(row) + "\n")
            file.flush()


def changes_of(example: dict[str, Any], engine: Engine) -> Iterator[dict[str, Any]]:
    """Yield the features of each change that the model proposes, and whether it is right."""
    before, earlier = faults(example["text"], example["language"]), set(earlier_texts(example))
    for number, region in enumerate(regions(question(example))):
        for change in finished(engine.proposer.rewrite(region)).found:
            if takes_back(change, region.history):
                continue
            row = _judged(example, region, change, before, earlier)
            if row is not None:
                yield {"region": number, "features": features_of(change, region), **row}


def _judged(
    example: dict[str, Any], region: Region, change: ScoredChange, faults_before: int, earlier: set[str]
) -> dict[str, Any] | None:
    made = proposal_of(example["text"], region, change, 0.5)
    after = None if made is None else applied(example["text"], made.edits)
    if made is None or after is None or after in earlier or faults(after, example["language"]) > faults_before:
        return None
    if not example["rest"]:
        return {"chrf": 0.0, "exact": False, "touches": False}
    found: dict[str, Any] = judged(example["text"], [Hunk(**hunk) for hunk in example["rest"]], made.edits)
    return found


def fit_rows(examples: list[dict[str, Any]]) -> dict[str, float]:
    """Return the weights of the features."""
    rows = [(change, example) for example in examples for change in example["rows"]]
    names = [name for name in rows[0][0]["features"] if name not in BY_HAND]
    features = np.array([[change["features"][name] for name in names] for change, _ in rows])  # [N, F]
    right = np.array([is_right(change) for change, _ in rows], float)
    counts = np.array([1.0 if example["kind"] == "edit" else FINISHED for _, example in rows])
    return {**BY_HAND, **dict(zip(names, fit(features, right, counts).tolist(), strict=True))}


def print_thresholds(examples: list[dict[str, Any]], weights: dict[str, float]) -> None:
    """Print what is shown at each threshold: the first region with a change that is sure enough, its best change."""
    places = [example for example in examples if example["kind"] == "edit"]
    ends = [example for example in examples if example["kind"] != "edit"]
    print(f"{len(places)} places, {len(ends)} finished; shown, right, exact, chrF where shown; silent")
    for least in THRESHOLDS:
        shown = [change for place in places if (change := _shown(place, weights, least)) is not None]
        wrong = sum(_shown(end, weights, least) is not None for end in ends)
        right = sum(map(is_right, shown))
        exact = sum(change["exact"] for change in shown)
        chrf = sum(change["chrf"] for change in shown) / max(1, len(shown))
        silent = 1 - wrong / max(1, len(ends))
        print(f"{least:.2f} {len(shown) / max(1, len(places)):.3f} {right} {exact} {chrf:.1f} {silent:.3f}")


def _shown(example: dict[str, Any], weights: dict[str, float], least: float) -> dict[str, Any] | None:
    for region in sorted({change["region"] for change in example["rows"]}):
        changes = [change for change in example["rows"] if change["region"] == region]
        sure = [(probability(change["features"], weights), change) for change in changes]
        confidence, best = max(sure, key=lambda one: one[0])
        if confidence >= least:
            return dict(best)
    return None


def _read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()

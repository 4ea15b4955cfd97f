"""Plots a run's losses over the tokens it has seen.

python -m train.small.plot --run training/base --out training/base/losses.png
"""

import argparse
import json
from pathlib import Path

from train.small.checkpoint import LOG

LOSSES = ("prefix", "suffix", "canvas", "prompt", "length")


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the losses of a run.")
    parser.add_argument("--run", type=Path, default=Path("training/base"))
    parser.add_argument("--out", type=Path, default=None, help="a PNG; the default lies beside the log")
    options = parser.parse_args()
    entries = [json.loads(line) for line in (options.run / LOG).read_text().splitlines()]
    draw(chain(entries), options.out or options.run / "losses.png")


def chain(entries: list[dict[str, float]]) -> list[dict[str, float]]:
    """Return the entries that led to the last one. Training that was rolled back is left out."""
    kept: list[dict[str, float]] = []
    for entry in entries:
        while kept and kept[-1]["tokens"] >= entry["tokens"]:
            kept.pop()
        kept.append(entry)
    return kept


def draw(entries: list[dict[str, float]], out: Path) -> None:
    """Draw one line per loss, in nats, over millions of tokens."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for name in LOSSES:
        points = [(entry["tokens"] / 1e6, entry[name]) for entry in entries if name in entry]
        if points:
            axes.plot(*zip(*points, strict=True), label=f"{name}, last {points[-1][1]:.2f}")
    axes.set_xlabel("million tokens")
    axes.set_ylabel("loss, nats")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(out, dpi=110)
    pyplot.close(figure)


if __name__ == "__main__":
    main()

"""Exports a training checkpoint as a model folder: int8 weights, config, tokenizer, and the log of losses.

    python -m train.small.export --checkpoint training/base/decayed.pt \\
        --out infill_engine/weights/small

The model card next to them is written by hand, with results from bench/quality.
"""

import argparse
import json
import shutil
from pathlib import Path

from infill_engine.models.small.network.weights import save_network
from train.small.checkpoint import LOG, load_state, model_from, take_log


def main() -> None:
    parser = argparse.ArgumentParser(description="Export a checkpoint as a model folder.")
    parser.add_argument("--checkpoint", type=Path, default=Path("training/base/decayed.pt"))
    parser.add_argument("--tokenizer", type=Path, default=Path("training/tokenizer.json"))
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    state = load_state(options.checkpoint)
    save_network(model_from(state), options.out)
    shutil.copyfile(options.tokenizer, options.out / "tokenizer.json")
    (options.out / "training.json").write_text(json.dumps(state["progress"], indent=1) + "\n")
    (options.out / LOG).unlink(missing_ok=True)
    take_log(options.out, options.checkpoint.parent)
    size = sum(path.stat().st_size for path in options.out.iterdir()) / 2**20
    print(f"{options.out}: {size:.1f} MiB, trained on {state['progress']['tokens'] / 1e6:.1f} M tokens")


if __name__ == "__main__":
    main()

"""Packs what a bare machine with a GPU needs to train, in small files, and takes the results back.

    python -m train.denoiser.kit pack --texts training/middles --out training/gpu \\
        --vocabulary training/denoiser/run/denoiser.safetensors
    python -m train.denoiser.kit train --parts training/gpu --out results --until 480
    python -m train.denoiser.kit join --parts results --out training/from-gpu

`train` runs there, with torch, numpy and safetensors alone. It trains until the given second after its start and writes
files of less than 16 MiB, from which `join` makes a checkpoint. Pieces are checked against their SHA-256 sums.
"""

import argparse
import hashlib
import io
import json
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from safetensors.torch import load, save
from torch import Tensor

from infill_engine.errors import InfillError, TrainingError
from infill_engine.models.trunk.adapter import ADAPTER
from train.denoiser.__main__ import parser as training_parser
from train.denoiser.__main__ import train
from train.denoiser.run import CHECKPOINT, Run
from train.denoiser.setup import folders_of, open_learner
from train.denoiser.texts import pieces_in
from train.denoiser.vocabulary import read_vocabulary
from train.denoiser.weights import Shape

LARGEST_PART, LARGEST_RESULT = 44 << 20, 15 << 20  # bytes
SUMS, VOCABULARY = "sums.json", "vocabulary.safetensors"
NO_LIMIT = 10**9  # slots: the time decides
RESERVED = 25.0  # seconds kept at the end for saving


def main() -> None:
    options, rest = _parser().parse_known_args()
    try:
        if options.command == "pack":
            pack(options)
        elif options.command == "train":
            train_there(options, rest, time.monotonic())
        else:
            join(options.parts, options.out)
    except InfillError as error:
        sys.exit(str(error))


def pack(options: argparse.Namespace) -> None:
    """Write the trunk with its adapter, all texts and, if given, the checkpoint in `options.start`, in parts."""
    folder, trained = folders_of(options.trunk)
    members = {
        f"trunk/{path.name}": path
        for path in [*sorted(folder.glob("model*")), folder / "config.json", folder / "tokenizer.json"]
    }
    members |= {f"trunk/{path.name}": path for path in (folder / "checksums.json", trained / ADAPTER) if path.is_file()}
    for name, source in (("texts", options.texts), ("held-out", options.held_out)):
        # There, pieces of several folders share one. The beginnings of their names still find them.
        members |= {f"{name}/piece-{'-'.join(path.relative_to(source).parts)}": path for path in pieces_in(source)}
    if options.start is not None:
        members[f"start/{CHECKPOINT}"] = options.start / CHECKPOINT
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for name, path in members.items():
            tar.add(path, name)
        if options.vocabulary is not None:
            content = save({"vocabulary": read_vocabulary(options.vocabulary)})
            entry = tarfile.TarInfo(VOCABULARY)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    write_parts(whole.getvalue(), options.out, LARGEST_PART)


def train_there(options: argparse.Namespace, rest: list[str], began: float) -> None:
    """Train on what `pack` packed, and write the weights to `options.out` in parts."""
    unpacked = options.out.parent / "unpacked"
    with tarfile.open(fileobj=io.BytesIO(read_parts(options.parts))) as tar:
        tar.extractall(unpacked, filter="data")
    run = unpacked / "start" if (unpacked / "start").is_dir() else unpacked / "run"
    settings = ["--run", str(run), "--texts", str(unpacked / "texts"), "--held-out", str(unpacked / "held-out")]
    settings += ["--trunk", str(unpacked / "trunk"), "--device", options.device, "--save", "1e9", "--evaluate", "2"]
    settings += ["--slots", str(NO_LIMIT), "--together", "16", "--batch", "16"]
    if (unpacked / VOCABULARY).is_file():
        settings += ["--vocabulary", str(unpacked / VOCABULARY)]
    chosen = training_parser().parse_args([*settings, *rest])
    chosen.run.mkdir(parents=True, exist_ok=True)
    learner, trained = open_learner(chosen)
    chosen.minutes = (options.until - RESERVED - (time.monotonic() - began)) / 60
    train(learner, trained, chosen, [])
    notes = {"first_layer": trained.shape.first_layer, "slots": trained.shape.slots, "rank": trained.shape.rank}
    half = {name: tensor.half().cpu().contiguous() for name, tensor in trained.weights.items()}
    half["vocabulary"] = trained.vocabulary.cpu()
    write_parts(
        save(half, {"shape": json.dumps(notes), "slots": str(trained.progress.slots)}), options.out, LARGEST_RESULT
    )


def join(parts: Path, out: Path) -> None:
    """Make a checkpoint in `out` from the results in `parts`; its optimiser begins afresh."""
    content = read_parts(parts)
    stored = load(content)
    size = int.from_bytes(content[:8], "little")
    notes = json.loads(content[8 : 8 + size])["__metadata__"]
    vocabulary: Tensor = stored.pop("vocabulary")
    weights = {name: tensor.float() for name, tensor in stored.items()}
    run = Run.begin(Shape(**json.loads(notes["shape"])), vocabulary, weights)
    run.progress.slots = int(notes["slots"])
    out.mkdir(parents=True, exist_ok=True)
    run.save(out)


def write_parts(content: bytes, folder: Path, largest: int) -> None:
    """Write `content` to `folder` in parts of at most `largest` bytes, with their sums."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("part-*"):
        old.unlink()
    sums = {}
    for number, start in enumerate(range(0, len(content), largest)):
        part = content[start : start + largest]
        sums[f"part-{number:02}"] = hashlib.sha256(part).hexdigest()
        (folder / f"part-{number:02}").write_bytes(part)
    (folder / SUMS).write_text(json.dumps(sums), encoding="utf-8")


def read_parts(folder: Path) -> bytes:
    """Return what `write_parts` wrote. Raises TrainingError for a missing or damaged part."""
    return b"".join(_checked(folder))


def _checked(folder: Path) -> Iterator[bytes]:
    try:
        sums = json.loads((folder / SUMS).read_text(encoding="utf-8"))
        for name, expected in sums.items():
            part = (folder / name).read_bytes()
            if hashlib.sha256(part).hexdigest() != expected:
                raise TrainingError(f"{folder / name} is damaged; copy it again")
            yield part
    except OSError as error:
        raise TrainingError(f"{error.filename} cannot be read ({error.strerror}); copy the parts again") from error


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m train.denoiser.kit", description="Train on a GPU.")
    commands = made.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("--texts", type=Path, default=Path("training/middles"))
    packing.add_argument("--held-out", type=Path, default=Path("training/held-out-middles"))
    packing.add_argument("--trunk", type=Path, default=None, help="folder of the trunk; by default, the served one")
    packing.add_argument("--start", type=Path, default=None, metavar="RUN", help="folder of a checkpoint to resume")
    packing.add_argument("--vocabulary", type=Path, default=None, metavar="FILE", help="checkpoint to take it from")
    packing.add_argument("--out", type=Path, default=Path("training/gpu"))
    training = commands.add_parser("train", help="also takes the options of the trainer")
    training.add_argument("--parts", type=Path, required=True)
    training.add_argument("--out", type=Path, required=True)
    training.add_argument("--until", type=float, default=480.0, metavar="SECOND", help="after the start of the command")
    training.add_argument("--device", default="cuda")
    joining = commands.add_parser("join")
    joining.add_argument("--parts", type=Path, required=True)
    joining.add_argument("--out", type=Path, required=True)
    return made


if __name__ == "__main__":
    main()

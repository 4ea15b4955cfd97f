"""Splits files into checked parts, for machines that take or give back only small ones, and joins them there.

    python -m train.parts split infill_engine/weights/trunk training/middles --out training/parts
    python -m train.parts join training/parts --out unpacked
    python -m train.parts split --run RUN --out results --largest 15

`--run` splits a run's mean weights in half precision. What is joined is a checkpoint that a run resumes.

A machine with a GPU needs torch, numpy and safetensors alone to join parts and to train mask rows, for which
`--trunk` names the folder there.
"""

import argparse
import hashlib
import io
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import torch

from infill_engine.errors import InfillError, TrainingError
from train import checkpoint

LARGEST = 44  # MiB of a part
SUMS = "sums.json"


def main() -> None:
    options = _parser().parse_args()
    try:
        if options.command == "join":
            join(options.parts, options.out)
        else:
            split(options.files, options.run, options.out, options.largest << 20)
    except InfillError as error:
        sys.exit(str(error))


def split(files: list[Path], run: Path | None, out: Path, largest: int) -> None:
    """Write files, folders and a run's mean to `out`, in parts of at most `largest` bytes. Raises TrainingError."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for path in files:
            tar.add(path, path.name)
        if run is not None:
            content = light(run)
            entry = tarfile.TarInfo(checkpoint.CHECKPOINT)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    write_parts(whole.getvalue(), out, largest)


def join(parts: Path, out: Path) -> None:
    """Write what was split to a folder. Raises TrainingError for a missing or damaged part."""
    with tarfile.open(fileobj=io.BytesIO(b"".join(read_parts(parts)))) as tar:
        tar.extractall(out, filter="data")


def light(run: Path) -> bytes:
    """Return a run's checkpoint with its mean in half precision and without the optimiser. Raises TrainingError."""
    found = checkpoint.read(run, "cpu")
    if found is None:
        raise TrainingError(f"{run} has no checkpoint; train first")
    parameters = {name: each.half() for name, each in found["mean"].items()}
    kept = {name: found[name] for name in ("task", "kept", "seen")}
    content = io.BytesIO()
    torch.save({**kept, "parameters": parameters}, content)
    return content.getvalue()


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


def read_parts(folder: Path) -> Iterator[bytes]:
    """Yield the parts that `write_parts` wrote. Raises TrainingError for a missing or damaged one."""
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
    made = argparse.ArgumentParser(prog="python -m train.parts", description="Split files into checked parts.")
    commands = made.add_subparsers(dest="command", required=True)
    splitting = commands.add_parser("split")
    splitting.add_argument("files", type=Path, nargs="*", help="files and folders")
    splitting.add_argument("--run", type=Path, default=None, help="folder of a checkpoint")
    splitting.add_argument("--out", type=Path, required=True)
    splitting.add_argument("--largest", type=int, default=LARGEST, metavar="MIB", help="size of a part")
    joining = commands.add_parser("join")
    joining.add_argument("parts", type=Path, help="folder of the parts")
    joining.add_argument("--out", type=Path, required=True)
    return made


if __name__ == "__main__":
    main()

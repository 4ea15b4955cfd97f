"""Lets the trunk write middles to train on, and stores them in pieces.

    python -m train.denoiser.write --corpus training/corpus/corpus.jsonl --out training/middles \\
        --tokens 430000

Goes on where an earlier run stopped. SIGTERM ends it with a smaller piece.
"""

import argparse
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from infill_engine.models.checkpoint.user_data import prepared_folder
from infill_engine.models.registry import folder_of, trained_folder
from infill_engine.models.trunk.prepared import load_prepared
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.models.trunk.sources import ShardsSource
from infill_engine.models.trunk.torch_loading import build_network
from train.denoiser.context import context_path, save_context
from train.denoiser.int8_network import int8_network
from train.denoiser.lanes import Order, Writer, Written
from train.denoiser.prompts import PromptSettings, draw_order
from train.denoiser.texts import load_piece, pieces_in, save_piece
from train.trunk.__main__ import read_corpus
from train.trunk.snippets import File, Heads

LEAST_CHARACTERS = 300  # of a file
LARGEST_SHARE = 30_000  # characters of a file that count when files are drawn
PROMPT_ROWS = 256  # about as many as a prompt has
ENDS = ("<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>")


def main() -> None:
    options = _parser().parse_args()
    for folder in (options.out, options.contexts):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    torch.set_num_threads(options.threads)
    writer, vocabulary = open_writer(options)
    done = pieces_in(options.out)
    tokens = sum(text.written for path in done for text in load_piece(path))
    files = read_folder(options.corpus) if options.corpus.is_dir() else read_corpus(options.corpus)
    orders = draw_orders(files, vocabulary, random.Random(options.seed + len(done)), options)
    batch: list[Written] = []
    number, began, before = len(done), time.process_time(), tokens
    for written in writer.write(orders):
        batch.append(written)
        tokens += written.text.written
        if len(batch) == options.texts or stopping or tokens >= options.tokens:
            save(options, number, batch)
            spent = (time.process_time() - began) / options.threads
            speed = f"{(tokens - before) / spent:.0f} tokens/s"
            print(f"piece {number} · {tokens} tokens · {speed} · {described(batch, vocabulary.end)}", flush=True)
            number, batch = number + 1, []
            if stopping or tokens >= options.tokens:
                break


def save(options: argparse.Namespace, number: int, batch: list[Written]) -> None:
    """Write the contexts of texts, if they are kept, under the names that the trainer uses; then write the piece."""
    path = options.out / f"piece-{number:04}.safetensors"
    for place, written in enumerate(batch):
        if written.context is not None:
            name = f"{options.out.name}-{path.stem}-{place}"
            save_context(context_path(options.contexts, name, options.keep_from), written.context)
    save_piece(path, [written.text for written in batch])


def described(batch: list[Written], end: int) -> str:
    """Return the mean lengths of texts, and how often the trunk would have ended them."""
    texts = [written.text for written in batch]
    read, wrote = sum(text.start for text in texts), sum(text.written for text in texts)
    ends = sum(int((text.likeliest[text.start - 1 :, 0] == end).sum()) for text in texts)
    return (
        f"prompts of {read / len(texts):.0f}, middles of {wrote / len(texts):.0f} tokens · "
        f"{ends / len(texts):.1f} ends each"
    )


def read_folder(folder: Path) -> list[File]:
    """Return the files of a folder that `bench.quality.problems.fetch_languages` wrote: language, package, path."""
    found = []
    for path in sorted(folder.glob("*/*/**/*")):
        language, package, *rest = path.relative_to(folder).parts
        if path.is_file() and path.stat().st_size >= LEAST_CHARACTERS:
            found.append(File(path.read_text(encoding="utf-8"), language, package, "/".join(rest)))
    return found


def open_writer(options: argparse.Namespace) -> tuple[Writer, TrunkVocabulary]:
    """Return a writer with the trunk that is served by default, in int8 where that is exact, and its vocabulary."""
    folder = folder_of("trunk")
    assert folder is not None
    vocabulary = TrunkVocabulary(folder / "tokenizer.json")
    source = ShardsSource(folder, trained_folder(folder))
    prepared = load_prepared(source, prepared_folder(), lambda *_: None)
    network = int8_network(prepared, PROMPT_ROWS) or build_network(source.open())
    ends = frozenset(vocabulary.need(*ENDS))
    keep_from = options.keep_from if options.contexts is not None else None
    return Writer(network, ends, lanes=options.lanes, slots=options.slots, keep_from=keep_from), vocabulary


def draw_orders(
    files: list[File], vocabulary: TrunkVocabulary, rng: random.Random, options: argparse.Namespace
) -> Iterator[Order]:
    """Yield prompts of random files without end. Every language has the same share."""
    heads, settings = Heads(files, vocabulary, options.snippets), PromptSettings(original=options.original)
    languages = sorted({file.language for file in files})
    of_language = {name: [file for file in files if file.language == name] for name in languages}
    shares = {name: [min(len(file.text), LARGEST_SHARE) for file in of_language[name]] for name in languages}
    while True:
        name = rng.choice(languages)
        (file,) = rng.choices(of_language[name], shares[name])
        order = draw_order(file, vocabulary, heads, settings, rng)
        if order is not None:
            yield order


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m train.denoiser.write", description="Write texts.")
    add = parser.add_argument
    add("--corpus", type=Path, default=Path("training/corpus/corpus.jsonl"), help="or a folder of held-out files")
    add("--out", type=Path, default=Path("training/middles"), help="folder of the pieces")
    add("--contexts", type=Path, default=None, help="folder to keep contexts in, for a trainer with the same option")
    add("--keep-from", type=int, default=16, metavar="LAYER", help="at which mask rows enter")
    add("--tokens", type=int, default=430_000, help="tokens of all middles in the folder")
    add("--texts", type=int, default=200, help="texts in a piece")
    add("--lanes", type=int, default=48, help="texts written at a time")
    add("--slots", type=int, default=720, help="most tokens of a prompt and its middle")
    add("--snippets", type=float, default=0.15, help="share of the prompts with snippets of their package in front")
    add("--original", type=float, default=0.0, help="share of the middles that are read instead of written")
    add("--threads", type=int, default=1, help="more are slower beside other work: run two processes with two folders")
    add("--seed", type=int, default=0)
    return parser


if __name__ == "__main__":
    main()

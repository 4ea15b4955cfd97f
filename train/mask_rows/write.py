"""Lets the trunk write middles to learn mask rows from, and stores them in pieces.

    python -m train.mask_rows.write --corpus training/corpus/corpus.jsonl --out training/middles --tokens 430000

Goes on where an earlier run stopped. SIGTERM ends it with a smaller piece.
"""

import argparse
import random
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812

from infill_engine.models.trunk.network import Layer, Network
from infill_engine.models.trunk.prompt import TrunkVocabulary
from train.holes.snippets import File, Heads, read_corpus, shares_of
from train.mask_rows.lanes import Order, Writer
from train.mask_rows.prompts import PromptSettings, draw_order
from train.mask_rows.texts import Text, load_piece, pieces_in, save_piece
from train.trunk.base import Base, open_base

LEAST_CHARACTERS = 300  # of a file
ENDS = ("<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>")


def main() -> None:
    options = _parser().parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    torch.set_num_threads(options.threads)
    base = open_base(None, "cpu", exact=False)
    vocabulary = TrunkVocabulary(base.folder / "tokenizer.json")
    writer = Writer(network_of(base), frozenset(vocabulary.need(*ENDS)), lanes=options.lanes, slots=options.slots)
    done = pieces_in(options.out)
    tokens = sum(text.written for path in done for text in load_piece(path))
    files = read_folder(options.corpus) if options.corpus.is_dir() else read_corpus(options.corpus)
    orders = draw_orders(files, vocabulary, random.Random(options.seed + len(done)), options)
    batch: list[Text] = []
    number, began, before = len(done), time.process_time(), tokens
    for text in writer.write(orders):
        batch.append(text)
        tokens += text.written
        if len(batch) == options.texts or stopping or tokens >= options.tokens:
            save_piece(options.out / f"piece-{number:04}.safetensors", batch)
            speed = (tokens - before) / (time.process_time() - began)
            told = described(batch, vocabulary.end)
            print(f"piece {number} · {tokens} tokens · {speed:.0f} a processor second · {told}", flush=True)
            number, batch = number + 1, []
            if stopping or tokens >= options.tokens:
                break


def network_of(base: Base) -> Network:
    """Return the trunk as a network, whose attention the writer decides."""
    trunk = base.trunk
    layers = [
        Layer(layer.attention_norm, layer.mlp_norm, *(products[name].times for name in products))
        for layer, products in zip(trunk.layers, base.products, strict=True)
    ]
    head = partial(F.linear, weight=trunk.embedding)
    return Network(trunk.config, layers, trunk.norm, lambda ids: trunk.embedding[ids], head)


def described(texts: list[Text], end: int) -> str:
    """Return the mean lengths of texts, and how often the trunk would have ended them."""
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


def draw_orders(
    files: list[File], vocabulary: TrunkVocabulary, rng: random.Random, options: argparse.Namespace
) -> Iterator[Order]:
    """Yield prompts of random files without end. Every language has the same share."""
    heads, settings = Heads(files, vocabulary, options.snippets), PromptSettings(original=options.original)
    languages = sorted({file.language for file in files})
    of_language = {name: [file for file in files if file.language == name] for name in languages}
    shares = {name: shares_of(of_language[name]) for name in languages}
    while True:
        name = rng.choice(languages)
        (file,) = rng.choices(of_language[name], shares[name])
        order = draw_order(file, vocabulary, heads, settings, rng)
        if order is not None:
            yield order


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m train.mask_rows.write", description="Write texts.")
    add = parser.add_argument
    add("--corpus", type=Path, default=Path("training/corpus/corpus.jsonl"), help="or a folder of held-out files")
    add("--out", type=Path, default=Path("training/middles"), help="folder of the pieces")
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

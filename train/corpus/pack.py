"""Packs the corpus into token files that a trainer can memory-map and that are small to transfer.

    python -m train.corpus.pack --corpus training/corpus/corpus.jsonl \\
        --tokenizer training/tokenizer.json

Every part is an .npz of `tokens` (uint16, files in sequence, each starting with <bos>) and `holes` (int32, [n, 3]:
first token, token after the last, kind). The text is cut at every hole's edges *before* it is tokenised, so prefix,
hole and suffix are tokenised separately, exactly as during typing.
"""

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from train.corpus.holes import KINDS, spans_of

TOKENS_PER_PART = 8_000_000  # about 12 MiB compressed
LONGEST_HOLE = 40  # tokens; longer ones would not fit a canvas


def main() -> None:
    parser = argparse.ArgumentParser(description="Tokenise and pack the corpus.")
    parser.add_argument("--corpus", type=Path, default=Path("training/corpus/corpus.jsonl"))
    parser.add_argument("--tokenizer", type=Path, default=Path("training/tokenizer.json"))
    parser.add_argument("--out", type=Path, default=Path("training/parts"))
    parser.add_argument("--parts", type=int, default=None, help="stop after so many parts")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for part in options.out.glob("part-*.npz"):  # of an earlier packing; a trainer reads every part in the folder
        part.unlink()
    texts = _shuffled(options.corpus)
    written = 0
    packed: list[tuple[np.ndarray, np.ndarray]] = []
    length = 0
    with ProcessPoolExecutor(
        options.processes, initializer=_open_tokenizer, initargs=(str(options.tokenizer),)
    ) as pool:
        for file_tokens, file_holes in pool.map(_pack_file, enumerate(texts), chunksize=16):
            packed.append((file_tokens, file_holes))
            length += len(file_tokens)
            if length >= TOKENS_PER_PART:
                _write(options.out / f"part-{written:03d}.npz", *joined(packed))
                written, length = written + 1, 0
                packed.clear()
                if written == options.parts:
                    pool.shutdown(wait=False, cancel_futures=True)
                    return
    if length:
        _write(options.out / f"part-{written:03d}.npz", *joined(packed))


def pack_text(
    text: str, tokenizer: Tokenizer, rng: random.Random, language: str = "python"
) -> tuple[np.ndarray, np.ndarray]:
    """Return tokens [t] uint16 of `text` after a <bos>, and its holes [n, 3] int32."""
    spans = spans_of(text, rng, language)
    cuts = sorted({0, len(text), *(span.start for span in spans), *(span.end for span in spans)})
    pieces = tokenizer.encode_batch_fast([text[a:b] for a, b in pairwise(cuts)], add_special_tokens=False)
    ids = [tokenizer.token_to_id("<bos>")]
    position = {}
    inside_word = set()
    for cut, piece in zip(cuts, pieces, strict=False):
        position[cut] = len(ids)
        if cut and (text[cut - 1] + text[cut]).replace("_", "a").isalnum():
            inside_word.add(cut)
        ids.extend(piece.ids)
    position[len(text)] = len(ids)
    torn = np.array(sorted(inside_word))
    holes = [
        (position[span.start], position[span.end], KINDS.index(span.kind))
        for span in spans
        if position[span.end] - position[span.start] <= LONGEST_HOLE
        # Leave out holes with a word that another hole's edge splits: the model would learn it split.
        and np.searchsorted(torn, span.start, "right") == np.searchsorted(torn, span.end, "left")
    ]
    return np.array(ids, dtype=np.uint16), np.array(holes, dtype=np.int32).reshape(-1, 3)


def joined(files: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate the tokens and holes of files, each as `pack_text` returns them."""
    tokens, holes = [np.empty(0, np.uint16)], [np.empty((0, 3), np.int32)]
    length = 0
    for file_tokens, file_holes in files:
        tokens.append(file_tokens)
        holes.append(file_holes + np.array([length, length, 0], dtype=np.int32))
        length += len(file_tokens)
    return np.concatenate(tokens), np.concatenate(holes)


def open_tokenizer(path: str) -> Tokenizer:
    """Load a tokenizer that treats the names of special tokens in a text as plain text, as the product does."""
    tokenizer = Tokenizer.from_file(path)
    tokenizer.encode_special_tokens = True
    return tokenizer


_tokenizer: Tokenizer


def _open_tokenizer(path: str) -> None:
    global _tokenizer
    _tokenizer = open_tokenizer(path)


def _pack_file(numbered: tuple[int, str]) -> tuple[np.ndarray, np.ndarray]:
    number, text = numbered
    return pack_text(text, _tokenizer, random.Random(number))


def _shuffled(corpus: Path) -> Iterator[str]:
    """Yield every text of the corpus in an order drawn with a fixed seed."""
    with corpus.open("rb") as file:
        offsets = [0]
        for line in file:
            offsets.append(offsets[-1] + len(line))
        starts = offsets[:-1]
        random.Random(1).shuffle(starts)
        for start in starts:
            file.seek(start)
            yield json.loads(file.readline())["text"]


def _write(path: Path, tokens: np.ndarray, holes: np.ndarray) -> None:
    np.savez_compressed(path, tokens=tokens, holes=holes)
    print(
        f"{path}: {len(tokens):,} tokens, {len(holes):,} holes, {path.stat().st_size / 2**20:.1f} MiB",
        flush=True,
    )


if __name__ == "__main__":
    main()

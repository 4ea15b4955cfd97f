"""Trains the byte-level BPE tokenizer of the small model.

    python -m train.corpus.tokenizer --corpus training/corpus/corpus.jsonl \\
        --out training/tokenizer.json

A line break with the following indentation is one piece, digits are separate pieces, a run of spaces is one piece, and
a word includes at most one leading space. A hole for the rest of a line therefore never needs a token with a line
break.
"""

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

PIECE = r"\n+[ \t]*| ?[\p{L}_]+|\d| ?[^\s\p{L}\d_]+|\s+"
SPECIALS = ("<pad>", "<mask>", "<eos>", "<bos>", *(f"<reserved{i}>" for i in range(12)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the tokenizer of the embedded default model.")
    parser.add_argument("--corpus", type=Path, default=Path("training/corpus/corpus.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("training/tokenizer.json"))
    parser.add_argument("--vocab", type=int, default=8192)
    parser.add_argument("--files", type=int, default=6000, help="how many files, drawn at random, to learn merges from")
    options = parser.parse_args()
    train(sampled_texts(options.corpus, options.files), options.vocab).save(str(options.out))


def train(texts: Iterator[str], vocab: int) -> Tokenizer:
    """Return a byte-level BPE tokenizer with `vocab` entries, special tokens first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECE), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=list(SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        max_token_length=24,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def sampled_texts(corpus: Path, files: int) -> Iterator[str]:
    """Yield the texts of `files` files of the corpus, drawn at random with a fixed seed."""
    with corpus.open(encoding="utf-8") as lines:
        total = sum(1 for _ in lines)
        chosen = set(random.Random(0).sample(range(total), min(files, total)))
        lines.seek(0)
        for number, line in enumerate(lines):
            if number in chosen:
                yield json.loads(line)["text"]


if __name__ == "__main__":
    main()

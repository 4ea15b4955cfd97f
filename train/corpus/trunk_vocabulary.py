"""Trims the vocabulary of a pretrained trunk to the tokens that occur in code.

    python -m train.corpus.trunk_vocabulary --gguf trunk.gguf --text texts --out tokenizer.json

Nine of ten files are counted. The tenth is held out, and the share of its tokens that the trimmed vocabulary splits
differently is printed for each language.

The tokens that a kept token is merged from are kept, too. The same merges therefore still produce it, and a text
without dropped tokens is split as before. All 256 bytes are kept, so every text can be encoded. The new ids follow the
order of the old ones: first the ordinary tokens, then the special tokens. The old id of a token is the index of its
string in the list `tokenizer.ggml.tokens` of the GGUF file.
"""

import argparse
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from infill_engine.errors import ModelDamagedError
from infill_engine.models.tokenizer import QWEN_PIECE
from infill_engine.text.languages import language_of

SPECIALS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|cursor|>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
)
HELD_OUT = 10  # one file in this many is not counted
LARGEST = 100_000  # most characters read of a file, so that no single file decides what is kept
FOREIGN = 0.05  # share of bytes beyond ASCII above which a file is a translation, not code
DATA = frozenset(("json", "yaml", "toml", "sql", "html", "css", "scss", "markdown"))
DATA_WEIGHT = 0.5  # weight of a token's share in a data format (DATA); programming languages have 1
FEWEST = 1_000_000  # a language with fewer tokens is weighted down, because its rare tokens would be overrated


@dataclass(frozen=True, slots=True)
class Bpe:
    """A byte-level BPE vocabulary, written with one printable letter per byte.

    `tokens` are the ordinary ones in order of their ids; the first 256 are the bytes. `merges` are in order of
    application. The ids of `specials` follow those of `tokens`.
    """

    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    specials: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A file to count or to measure on."""

    language: str
    text: str
    held_out: bool


def main() -> None:
    parser = argparse.ArgumentParser(description="Trim the vocabulary of a pretrained trunk to the tokens of code.")
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="folders of source files in many languages")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", type=int, default=80_000, help="tokens at most, special ones included")
    parser.add_argument("--ascii", type=int, default=10_000, help="below this id, every ASCII token is kept")
    options = parser.parse_args()
    bpe = read_gguf(options.gguf)
    full = tokenizer_of(bpe)
    counts = count(full, (source for source in sources(options.text) if not source.held_out))
    trimmed = trim(bpe, choose(bpe, counts, size=options.size, always=options.ascii))
    tokenizer = tokenizer_of(trimmed)
    if lost := unreachable(tokenizer):
        raise ModelDamagedError(f"no merge makes {len(lost)} of the tokens, such as {min(lost)!r}: use another file")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(tokenizer.to_str() + "\n", encoding="utf-8")
    print(f"{tokenizer.get_vocab_size()} tokens in {options.out}")
    held_out = (source for source in sources(options.text) if source.held_out)
    for language, (changed, total) in sorted(changes(full, tokenizer, held_out).items()):
        counted = counts[language].total() if language in counts else 0
        print(f"{language:16} {counted:>11} tokens counted, {changed / total:9.4%} of {total:>9} held out changed")


def read_gguf(path: Path) -> Bpe:
    """Return the vocabulary of a GGUF file, with those of SPECIALS that it has. Raises ModelDamagedError."""
    from gguf import GGUFReader  # only this function needs it

    fields = GGUFReader(path).fields
    listed = []
    for name in ("tokens", "merges"):
        field = fields.get(f"tokenizer.ggml.{name}")
        if field is None:
            raise ModelDamagedError(f"{path} has no tokenizer.ggml.{name}: give a GGUF file with a byte-level BPE")
        listed.append([bytes(field.parts[number]).decode() for number in field.data])
    tokens, merges = listed
    pairs = tuple((left, right) for left, right in (merge.split(" ") for merge in merges))
    ordinary = letters() | {left + right for left, right in pairs}
    return Bpe(
        tuple(token for token in tokens if token in ordinary),
        pairs,
        tuple(token for token in tokens if token in SPECIALS),
    )


def letters() -> set[str]:
    """Return the printable letters that byte-level BPE uses for the 256 bytes."""
    return set(pre_tokenizers.ByteLevel.alphabet())


def tokenizer_of(bpe: Bpe) -> Tokenizer:
    """Return a tokenizer without a normalizer: the bytes of its tokens are those of the text."""
    vocabulary = {token: number for number, token in enumerate(bpe.tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, list(bpe.merges)))
    pieces = pre_tokenizers.Split(Regex(QWEN_PIECE), "isolated")
    spelling = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pieces, spelling])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in bpe.specials])
    return tokenizer


def sources(folders: Iterable[Path]) -> Iterator[Source]:
    """Yield the files of known languages below `folders`. Their relative paths decide which are held out."""
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            language = language_of(path.name)
            if language is None:
                continue
            data = path.read_bytes()  # as bytes, to keep every CRLF
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                continue
            if len(data) - len(text) > FOREIGN * len(data):
                continue
            name = path.relative_to(folder).as_posix()
            yield Source(language, text[:LARGEST], zlib.crc32(name.encode()) % HELD_OUT == 0)


def count(tokenizer: Tokenizer, texts: Iterable[Source]) -> dict[str, Counter[str]]:
    """Count the occurrences of each token in each language."""
    counts: dict[str, Counter[str]] = {}
    for source in texts:
        counts.setdefault(source.language, Counter()).update(_tokens(tokenizer, source.text))
    return counts


def choose(bpe: Bpe, counts: Mapping[str, Counter[str]], *, size: int, always: int) -> set[str]:
    """Choose the ordinary tokens of a vocabulary of `size`, as many as fit next to the special ones.

    The bytes come first, then ASCII tokens with an id below `always`, then the others in order of the sum of their
    shares in all languages. Each brings the tokens that it is merged from.
    """
    shares: dict[str, float] = {}
    for language, counted in counts.items():
        weight = (DATA_WEIGHT if language in DATA else 1.0) / max(counted.total(), FEWEST)
        for token, times in counted.items():
            shares[token] = shares.get(token, 0.0) + weight * times
    spelling = decoders.ByteLevel()
    common = (token for token in bpe.tokens[:always] if spelling.decode([token]).isascii())
    parts = _parts(bpe)
    kept = letters()
    for token in chain(common, sorted(shares, key=shares.__getitem__, reverse=True)):
        grown = close([token], parts) - kept
        if len(kept) + len(grown) + len(bpe.specials) <= size:
            kept |= grown
    return kept


def close(tokens: Iterable[str], parts: Mapping[str, tuple[str, str]]) -> set[str]:
    """Return `tokens` and every token that they are merged from. `parts` maps a token to its two parts."""
    closed: set[str] = set()
    waiting = list(tokens)
    while waiting:
        token = waiting.pop()
        if token not in closed:
            closed.add(token)
            waiting += parts.get(token, ())
    return closed


def trim(bpe: Bpe, kept: Collection[str]) -> Bpe:
    """Return the vocabulary of the `kept` tokens and the merges that produce them, both in their old order."""
    closed = close([*letters(), *kept], _parts(bpe))
    return replace(
        bpe,
        tokens=tuple(token for token in bpe.tokens if token in closed),
        merges=tuple(pair for pair in bpe.merges if "".join(pair) in closed),
    )


def unreachable(tokenizer: Tokenizer) -> set[str]:
    """Return the ordinary tokens that the merges never produce, not even from their own bytes."""
    named = tokenizer.get_vocab(with_added_tokens=False)
    return {token for token in named if [piece.value for piece in tokenizer.model.tokenize(token)] != [token]}


def changes(full: Tokenizer, trimmed: Tokenizer, texts: Iterable[Source]) -> dict[str, tuple[int, int]]:
    """Return, per language, how many tokens `trimmed` splits differently, and how many there are in `full`."""
    found: dict[str, tuple[int, int]] = {}
    for source in texts:
        before = _spans(full, source.text)
        after = set(_spans(trimmed, source.text))
        changed, total = found.get(source.language, (0, 0))
        found[source.language] = (changed + sum(span not in after for span in before), total + len(before))
    return found


def _spans(tokenizer: Tokenizer, text: str) -> list[tuple[int, int]]:
    """Return the start and end of each token of `text`, in bytes."""
    return list(pairwise(accumulate((len(token) for token in _tokens(tokenizer, text)), initial=0)))


def _tokens(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return the tokens of a text. A special token spelt out in the text is split into ordinary ones."""
    tokenizer.encode_special_tokens = True
    tokens: list[str] = tokenizer.encode(text, add_special_tokens=False).tokens
    return tokens


def _parts(bpe: Bpe) -> dict[str, tuple[str, str]]:
    return {left + right: (left, right) for left, right in bpe.merges}


if __name__ == "__main__":
    main()

"""The default model's tokenizer as a `Vocabulary`: byte-level BPE read from tokenizer.json."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer

from infill_engine.errors import ModelDamagedError
from infill_engine.models.duostream.net import BOS, EOS, MASK

LONGEST_PARTIAL = 16  # characters of a word that are worth taking back from the prefix
_PARTIAL_WORD = re.compile(r"(?:(?<=\S) )?[^\W\d]+\Z|(?<=\S) \Z")


class BytesVocabulary:
    """Implements `infill_engine.models.base.Vocabulary`."""

    def __init__(self, path: Path) -> None:
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:
            raise ModelDamagedError(f"{path} is not a tokenizer ({error}); install the model again") from error
        self._tokenizer.encode_special_tokens = True  # code that says "<mask>" means the six characters
        names = [self._tokenizer.id_to_token(token) or "" for token in range(self._tokenizer.get_vocab_size())]
        self._specials = frozenset(token for token, name in enumerate(names) if re.fullmatch(r"<\w+>", name))
        self._bytes = [b"" if token in self._specials else _to_bytes(name) for token, name in enumerate(names)]
        if (self._tokenizer.token_to_id("<mask>"), self._tokenizer.token_to_id("<bos>")) != (MASK, BOS):
            raise ModelDamagedError(f"{path} has other special tokens than this model expects; install the model again")

    def __len__(self) -> int:
        return len(self._bytes)

    def encode(self, text: str) -> list[int]:
        # A lone surrogate, which an editor can send, has no bytes: it becomes a question mark.
        encodable = text.encode("utf-8", "replace").decode()
        ids: list[int] = self._tokenizer.encode(encodable, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str | None:
        if any(token in self._specials for token in ids):
            return None
        try:
            return b"".join(self._bytes[token] for token in ids).decode("utf-8")
        except UnicodeDecodeError:
            return None

    def split_partial_word(self, prefix: str) -> tuple[str, str]:
        found = _PARTIAL_WORD.search(prefix, max(0, len(prefix) - 4 * LONGEST_PARTIAL))
        if found is None or len(found.group()) > LONGEST_PARTIAL:
            return prefix, ""
        return prefix[: found.start()], found.group()

    def completions_of(self, start: bytes) -> tuple[Sequence[int], Sequence[int]]:
        longer = []
        at = bisect_left(self._sorted, (start, 0))
        while at < len(self._sorted) and self._sorted[at][0].startswith(start):
            longer.append(self._sorted[at][1])
            at += 1
        shorter = [self._token_of[start[:size]] for size in range(1, len(start)) if start[:size] in self._token_of]
        return longer, shorter

    def bytes_of(self, token: int) -> bytes:
        return self._bytes[token]

    def breaks_line(self) -> Sequence[int]:
        return self._breaking

    def never(self) -> Sequence[int]:
        return sorted(self._specials - {EOS})

    @cached_property
    def _breaking(self) -> list[int]:
        return [token for token, data in enumerate(self._bytes) if b"\n" in data]

    @cached_property
    def _sorted(self) -> list[tuple[bytes, int]]:
        return sorted((data, token) for token, data in enumerate(self._bytes) if data)

    @cached_property
    def _token_of(self) -> dict[bytes, int]:
        return {data: token for token, data in enumerate(self._bytes) if data}


def _byte_letters() -> dict[str, int]:
    """The printable letters that byte-level BPE writes for each byte (GPT-2's table)."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + number): byte for number, byte in enumerate(others)}


_LETTERS = _byte_letters()


def _to_bytes(name: str) -> bytes:
    return bytes(_LETTERS[letter] for letter in name)

"""One byte-exact vocabulary over any fast tokenizer: byte-level BPE, and SentencePiece-style BPE with byte fallback.

    byte-level       Qwen, Llama 3, StarCoder, DeepSeek, LLaDA    a printable letter represents each byte
    SentencePiece    Gemma, Llama 2                               `▁` represents a space, `<0x0A>` a byte

The bytes of a text's tokens are always the text's UTF-8. Whatever a tokenizer does to a text before splitting it (a
Unicode normal form, a space in front) is disabled, and code that spells `<|endoftext|>` means those characters and
never the token. Control tokens are recognised by the tokenizer's files and by their form, because several families
leave their fill-in-the-middle tokens unmarked.

Tables over the whole vocabulary are built on first use: 0.2 s for 150,000 tokens, once.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from infill_engine.errors import ModelDamagedError
from infill_engine.models.checkpoint.folder import TOKENIZER_PARTS

Ints = NDArray[np.int64]

LONGEST_PARTIAL = 16  # characters of a partial word that may be taken back from the prefix
REMEDY = "fetch the model's files again"
SPACE = "▁"
_PARTIAL_WORD = re.compile(r"(?:(?<=\S) )?[^\W\d]+\Z|(?<=\S) \Z")
_STEERING = re.compile(r"<[^<>\s]+>|\[[A-Z_]+\]")
_TAG = re.compile(r"</?(?!(?:pad|bos|eos|unk|mask|think)>)[a-z]+\d?>")  # HTML tags, which are whole tokens in Gemma
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
QWEN_PIECE = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class TokenizerVocabulary:
    """Text to tokens and back, over a tokenizer's files. Token bytes concatenate to the text's UTF-8.

    `path` is a tokenizer.json, or where one would be: without it, vocab.json and merges.txt beside it are read, the
    format of Qwen2 and its descendants. A `tokenizer` that was made from another kind of file is used as it is. `end`
    is the id of the token that ends a hole, if it is already known; `width` is the width of the logits, if it exceeds
    the number of tokens. Raises ModelDamagedError.
    """

    def __init__(self, path: Path, tokenizer: Tokenizer | None = None, *, end: int = -1, width: int = 0) -> None:
        self._path = path
        self._tokenizer = tokenizer or _read(path)
        self._pieces = bool(getattr(self._tokenizer.model, "byte_fallback", False))
        if not self._pieces and b"ByteLevel" not in _state(self._tokenizer.decoder):
            raise ModelDamagedError(
                f"{path} is a kind of tokenizer that cannot write every text (neither byte-level nor with byte "
                "fallback); use another model"
            )
        self._added = self._read_added()
        _make_exact(self._tokenizer, self._pieces, [self._added[token] for token in self._steering])
        self.end = end
        self.completions_of = lru_cache(256)(self._find_completions)
        if 0 < width < self._size:
            raise ModelDamagedError(
                f"{path} has {self._size} tokens and the network beside it knows only {width}: they do not belong "
                "together; fetch the model again"
            )
        self._width = max(width, self._size)

    def __len__(self) -> int:
        return self._width

    def ended_by(self, name: str) -> None:
        """Make the special token `name` the one that ends a hole. Call this before any table is built."""
        (self.end,) = self.need(name)

    def id_of(self, name: str) -> int | None:
        """Return the id of a special token."""
        token: int | None = self._tokenizer.token_to_id(name)
        return token

    def need(self, *names: str) -> list[int]:
        """Return the ids of special tokens. Raises ModelDamagedError that names all missing ones."""
        found = {name: token for name in names if (token := self.id_of(name)) is not None}
        missing = [name for name in names if name not in found]
        if missing:
            raise ModelDamagedError(
                f"{self._path} lacks {', '.join(missing)}: this checkpoint was not made to fill in; use one that was"
            )
        return [found[name] for name in names]

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        # A lone surrogate, which an editor can send, has no bytes: it becomes a question mark.
        encodable = text.encode("utf-8", "replace").decode()
        if not self._pieces or SPACE not in encodable:
            return self._encode(encodable)
        # In the text itself, the character that represents a space must become its bytes.
        spelt = self.need(*(f"<0x{byte:02X}>" for byte in SPACE.encode()))
        first, *others = encodable.split(SPACE)
        ids = self._encode(first)
        for part in others:
            ids += spelt + self._encode(part)
        return ids

    def decode(self, ids: Sequence[int]) -> str | None:
        """Return the text of `ids`, or None if they contain a special token or end inside a character."""
        if any(token >= self._size or token in self._steering for token in ids):
            return None
        try:
            return b"".join(self._bytes[token] for token in ids).decode("utf-8")
        except UnicodeDecodeError:
            return None

    def split_partial_word(self, prefix: str) -> tuple[str, str]:
        """Cut `prefix` before the cursor's word: the text to encode, and how the first token must begin."""
        found = _PARTIAL_WORD.search(prefix, max(0, len(prefix) - 4 * LONGEST_PARTIAL))
        if found is None or len(found.group()) > LONGEST_PARTIAL:
            return prefix, ""
        return prefix[: found.start()], found.group()

    def bytes_of(self, token: int) -> bytes:
        """Return a token's part of a text; nothing for a special token."""
        return self._bytes[token] if token < self._size else b""

    def breaks_line(self, *, at_once: bool = False) -> Ints:
        """Return tokens that contain a line break; with `at_once` only those with nothing but whitespace before it."""
        return self._breaking_at_once if at_once else self._breaking

    def never(self) -> Ints:
        """Return special tokens that may not occur in a text. The end-of-hole token is not among them."""
        return self._never

    def build_tables(self) -> None:
        """Build the tables that the first request would build, which takes 0.3 s."""
        self.breaks_line(at_once=True)
        self.never()
        self.completions_of(b" ")

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _read_added(self) -> dict[int, AddedToken]:
        """Added tokens by id: those of tokenizer.json, and those listed only in tokenizer_config.json."""
        added: dict[int, AddedToken] = dict(self._tokenizer.get_added_tokens_decoder())
        config = self._path.with_name("tokenizer_config.json")
        if not config.is_file():
            return added
        try:
            named = json.loads(config.read_text(encoding="utf-8")).get("added_tokens_decoder", {})
            unknown = sorted((int(token), about) for token, about in named.items() if int(token) not in added)
            for token, about in unknown:
                new = AddedToken(about["content"], special=bool(about.get("special")), normalized=False)
                self._tokenizer.add_tokens([new])
                if self._tokenizer.token_to_id(new.content) != token:
                    raise ValueError(f"{new.content} is not number {token}")
                added[token] = new
        except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
            raise ModelDamagedError(f"{config} does not fit the tokenizer ({error}); {REMEDY}") from error
        return added

    @cached_property
    def _size(self) -> int:
        size: int = max(self._tokenizer.get_vocab(with_added_tokens=True).values()) + 1
        return size

    @cached_property
    def _steering(self) -> frozenset[int]:
        """Tokens that control the model and are not part of any text."""
        return frozenset(
            token
            for token, about in self._added.items()
            if about.special
            or (_STEERING.fullmatch(about.content) and not (self._pieces and _TAG.fullmatch(about.content)))
        )

    @cached_property
    def _bytes(self) -> list[bytes]:
        named = self._tokenizer.get_vocab(with_added_tokens=True)
        found = [b""] * self._size
        for name, token in named.items():
            found[token] = _piece_bytes(name) if self._pieces else name.translate(_LETTERS).encode("latin-1", "ignore")
        for token, about in self._added.items():
            text = about.content.replace(SPACE, " ") if self._pieces else about.content
            found[token] = b"" if token in self._steering else text.encode()
        return found

    @cached_property
    def _never(self) -> Ints:
        nothing = [token for token, data in enumerate(self._bytes) if not data and token != self.end]
        return np.concatenate([np.array(nothing, np.int64), np.arange(self._size, self._width)])

    @cached_property
    def _breaking(self) -> Ints:
        return np.array([token for token, data in enumerate(self._bytes) if b"\n" in data], np.int64)

    @cached_property
    def _breaking_at_once(self) -> Ints:
        found = [token for token in self._breaking.tolist() if self._bytes[token].lstrip(b" \t\r").startswith(b"\n")]
        return np.array(found, np.int64)

    @cached_property
    def _sorted(self) -> tuple[list[bytes], Ints]:
        """The tokens that are text, in order of their bytes."""
        order = sorted((data, token) for token, data in enumerate(self._bytes) if data)
        return [data for data, _ in order], np.array([token for _, token in order], np.int64)

    def _find_completions(self, start: bytes) -> tuple[Ints, Ints]:
        """Return tokens whose bytes begin with `start`, and tokens that are a proper prefix of it."""
        data, tokens = self._sorted
        first = bisect_left(data, start)
        longer = tokens[first : bisect_left(data, start[:-1] + bytes([start[-1] + 1]), first)]
        places = [(at, size) for size in range(1, len(start)) if (at := bisect_left(data, start[:size])) < len(data)]
        return longer, np.array([tokens[at] for at, size in places if data[at] == start[:size]], np.int64)


def mask_name(folder: Path) -> str:
    """Return the name of the mask token of the tokenizer in `folder`; "" if it has none."""
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        path = folder / file
        try:
            named = json.loads(path.read_text(encoding="utf-8")).get("mask_token") if path.is_file() else None
        except (ValueError, OSError, AttributeError) as error:
            raise ModelDamagedError(f"{path} cannot be read ({error}); {REMEDY}") from error
        if named:
            return str(named["content"] if isinstance(named, dict) else named)
    return ""


def qwen_tokenizer(model: models.BPE) -> Tokenizer:
    """Return Qwen2's kind of tokenizer with these tokens and merges."""
    tokenizer = Tokenizer(model)
    cut = pre_tokenizers.Split(Regex(QWEN_PIECE), "isolated")
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, letters])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _read(path: Path) -> Tokenizer:
    try:
        if path.is_file():
            return Tokenizer.from_file(str(path))
        vocab, merges = (path.with_name(name) for name in TOKENIZER_PARTS)
        if not (vocab.is_file() and merges.is_file()):
            raise FileNotFoundError(f"neither it nor {vocab.name} with {merges.name} is there{_other_tokenizer(path)}")
        return qwen_tokenizer(models.BPE.from_file(str(vocab), str(merges)))
    except Exception as error:  # the library raises plain exceptions
        raise ModelDamagedError(f"{path} is not a tokenizer ({error}); install the model again") from error


def _other_tokenizer(path: Path) -> str:
    others = [name for name in ("tokenizer.model", "tokenizer.pkl") if path.with_name(name).is_file()]
    return f"; {others[0]} cannot be read, convert it to tokenizer.json" if others else ""


def _make_exact(tokenizer: Tokenizer, pieces: bool, steering: list[AddedToken]) -> None:
    """Make a text's tokens spell exactly its bytes, and keep text from becoming special tokens."""
    tokenizer.no_truncation()  # a file may contain both settings from training
    tokenizer.no_padding()
    tokenizer.normalizer = normalizers.Replace(" ", SPACE) if pieces else None
    if pieces and b"Metaspace" in _state(tokenizer.pre_tokenizer):
        tokenizer.pre_tokenizer = None
    tokenizer.add_special_tokens([AddedToken(token.content, special=True, normalized=False) for token in steering])
    tokenizer.encode_special_tokens = True


def _state(part: Any) -> bytes:
    """Return the definition of a part of a tokenizer, as JSON."""
    return b"" if part is None else bytes(part.__getstate__())


def _byte_letters() -> dict[int, int]:
    """Return the printable letters that byte-level BPE uses for each byte (GPT-2's table), for `str.translate`."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: byte for byte in plain} | {256 + number: byte for number, byte in enumerate(others)}


_LETTERS = _byte_letters()


def _piece_bytes(name: str) -> bytes:
    byte = _BYTE.fullmatch(name)
    return bytes([int(byte[1], 16)]) if byte else name.replace(SPACE, " ").encode()

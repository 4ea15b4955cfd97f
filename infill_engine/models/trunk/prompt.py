"""The trunk's prompt, in its own fill-in-the-middle format, with the cursor's line as the beginning of the middle.

    <|fim_prefix|> lines above <|fim_suffix|> text right of the cursor <|fim_middle|> the line so far ──▶ text

A typed character adds a token or two to the end, and nothing before it is read again. Source of the format:
Qwen2.5-Coder (arXiv 2409.12186).
"""

from dataclasses import dataclass
from pathlib import Path

from infill_engine.models.tokenizer import LONGEST_PARTIAL, TokenizerVocabulary
from infill_engine.text.lines import last_line

PREFIX_TOKENS = 448  # of the lines above, at most; the far end is cut in blocks, so that the cut seldom moves
SUFFIX_TOKENS = 127
LINE_TOKENS = 96
BLOCK = 64
LOOKED_BACK = 96  # characters of the line that are cut into pieces to find the last one


@dataclass(frozen=True, slots=True)
class FimTokens:
    """Numbers of the tokens that mark the parts of a fill-in-the-middle prompt, and of the one that ends a text."""

    prefix: int
    suffix: int
    middle: int
    end: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """The tokens of a prompt in its three parts, each with its marker in front."""

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    middle: tuple[int, ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        """The whole prompt, in order."""
        return self.prefix + self.suffix + self.middle


class TrunkVocabulary(TokenizerVocabulary):
    """The trunk's tokens. Raises ModelDamagedError for a tokenizer without those of fill-in-the-middle."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        names = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|endoftext|>")
        self.fim = FimTokens(*self.need(*names))
        self.end = self.fim.end

    def split_partial_word(self, prefix: str) -> tuple[str, str]:
        """Cuts `prefix` before the last piece of its line that more text could make a part of another token.

        A word takes the character before it along (`.width`, `(self`, ` return`), so the cut lies before that; of
        blanks only the last one joins what follows. Single digits stay: they are tokens of their own.
        """
        line = last_line(prefix)[-LOOKED_BACK:]
        pieces = self._tokenizer.pre_tokenizer.pre_tokenize_str(line) if line else []
        if not pieces:
            return prefix, ""
        start, end = pieces[-1][1]
        piece = line[start:end]
        if piece.isspace():
            piece = piece[-1]
        elif piece[-1].isnumeric() or len(piece) > LONGEST_PARTIAL:
            return prefix, ""
        return prefix[: len(prefix) - len(piece)], piece


def build_prompt(vocabulary: TrunkVocabulary, prefix: str, suffix: str) -> Prompt:
    """The prompt of a hole between `prefix`, which ends before the word at the cursor, and `suffix`."""
    prefix, suffix = prefix.replace("\r\n", "\n"), suffix.replace("\r\n", "\n")
    line = last_line(prefix)
    fim = vocabulary.fim
    above = vocabulary.encode(prefix[: len(prefix) - len(line)])
    so_far = vocabulary.encode(line)
    right = vocabulary.encode(suffix)[:SUFFIX_TOKENS]
    return Prompt(
        (fim.prefix, *_last_in_blocks(above, PREFIX_TOKENS)),
        (fim.suffix, *right),
        (fim.middle, *_last_in_blocks(so_far, LINE_TOKENS)),
    )


def _last_in_blocks(tokens: list[int], most: int) -> list[int]:
    excess = max(0, len(tokens) - most)
    return tokens[-(-excess // BLOCK) * BLOCK :]

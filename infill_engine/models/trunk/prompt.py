"""The trunk's prompt, in its own fill-in-the-middle format, with the cursor's line as the beginning of the middle.

    <|file_sep|> path, snippet … <|file_sep|> own path
    <|fim_prefix|> lines above <|fim_suffix|> text right of the cursor <|fim_middle|> the line so far ──▶ text

A typed character adds a token or two to the end, and nothing before it is read again. The first line is the prompt's
head: it is chosen while idle, and seldom changes. Source of the format: Qwen2.5-Coder (arXiv 2409.12186).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from infill_engine.context.snippets import Snippet
from infill_engine.models.tokenizer import LONGEST_PARTIAL, TokenizerVocabulary
from infill_engine.text.lines import last_line

PREFIX_TOKENS = 448  # maximum for the lines above; the far end is cut in blocks, so that the cut seldom moves
SUFFIX_TOKENS = 127
SNIPPET_TOKENS = 224  # of retrieved snippets, with the paths of their files
PATH_TOKENS = 31  # of the document's own path, whose end is the most informative part
LONGEST_TOKEN = 16  # upper bound on average characters per token: a snippet too long by this bound is not encoded
HEAD_TOKENS = SNIPPET_TOKENS + PATH_TOKENS + 1
LINE_TOKENS = 96
BLOCK = 64
LOOKED_BACK = 96  # characters of the line that are split to find its last piece


@dataclass(frozen=True, slots=True)
class FimTokenIds:
    """The ids of the tokens that mark the parts of a fill-in-the-middle prompt, and of the one that ends a text.

    `file` precedes the path of a file.
    """

    prefix: int
    suffix: int
    middle: int
    end: int
    file: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """The tokens of a prompt in its parts, each preceded by its marker."""

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    middle: tuple[int, ...]
    head: tuple[int, ...] = ()

    @property
    def tokens(self) -> tuple[int, ...]:
        """The whole prompt, in order."""
        return self.head + self.prefix + self.suffix + self.middle

    def nearest(self, tokens: int) -> "Prompt":
        """Return a prompt of at most this many tokens, with the text that is nearest to the cursor."""
        middle = (self.middle[0], *self.middle[1:][-(tokens // 2) :])
        left = max(0, tokens - len(middle) - 2)
        right = min(left // 4, len(self.suffix) - 1)
        above = min(left - right, len(self.prefix) - 1)
        prefix = self.prefix[len(self.prefix) - above :]
        return Prompt((self.prefix[0], *prefix), self.suffix[: 1 + right], middle)


class TrunkVocabulary(TokenizerVocabulary):
    """The trunk's tokens. Raises ModelDamagedError for a tokenizer without fill-in-the-middle tokens."""

    def __init__(self, path: Path, tokenizer: Tokenizer | None = None, width: int = 0) -> None:
        super().__init__(path, tokenizer, width=width)
        names = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|endoftext|>", "<|file_sep|>")
        self.fim = FimTokenIds(*self.need(*names))
        self.end = self.fim.end

    def split_partial_word(self, prefix: str) -> tuple[str, str]:
        """Cut `prefix` before the last piece of its line that more text could merge into a different token.

        A word includes the character before it (`.width`, `(self`, ` return`), so the cut is before that character; of
        several spaces, only the last one joins the next word. Single digits stay: they are separate tokens.
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


def build_head(vocabulary: TrunkVocabulary, path: str, snippets: Sequence[Snippet] = ()) -> tuple[int, ...]:
    """Return the head of a prompt: some snippets that fit, best first, and the document's path.

    The best snippet comes last, next to the text that it helps with.
    """
    own = [vocabulary.fim.file, *vocabulary.encode(f"{path}\n")[-PATH_TOKENS:]] if path else []
    return (*(token for snippet in reversed(snippets) for token in _tokens_of(vocabulary, snippet)), *own)


def fitting(vocabulary: TrunkVocabulary, snippets: Sequence[Snippet]) -> tuple[Snippet, ...]:
    """Return as many of `snippets`, best first, as fit. Skips a snippet that is too long."""
    taken: list[Snippet] = []
    left = SNIPPET_TOKENS
    for snippet in snippets:
        size = len(_tokens_of(vocabulary, snippet)) if left > len(snippet.text) // LONGEST_TOKEN else left + 1
        if size <= left:
            taken.append(snippet)
            left -= size
    return tuple(taken)


def build_prompt(vocabulary: TrunkVocabulary, prefix: str, suffix: str, head: tuple[int, ...] = ()) -> Prompt:
    """Return the prompt of a hole between `prefix`, which ends before the word at the cursor, and `suffix`."""
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
        head,
    )


def _tokens_of(vocabulary: TrunkVocabulary, snippet: Snippet) -> list[int]:
    return [vocabulary.fim.file, *vocabulary.encode(f"{snippet.path}\n{snippet.text}\n")]


def _last_in_blocks(tokens: list[int], most: int) -> list[int]:
    excess = max(0, len(tokens) - most)
    return tokens[-(-excess // BLOCK) * BLOCK :]

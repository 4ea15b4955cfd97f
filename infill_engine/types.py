"""The plain values that pass between rooms. Frozen, hashable, free of torch and of LSP.

Offsets are in characters (Unicode code points) unless a name says otherwise; times are in milliseconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b


class HoleKind(StrEnum):
    """What the syntax tree says is missing at the cursor."""

    LINE = "line"  # the rest of a line
    EXPRESSION = "expression"  # an argument, operand, element or condition between two delimiters
    STATEMENT = "statement"  # a whole line of its own
    BLOCK = "block"  # the body of something, several lines


class Source(StrEnum):
    """Where a candidate's text came from."""

    MODEL = "model"  # denoised from masks, or written from left to right
    RETRIEVAL = "retrieval"  # a continuation found elsewhere, as it was or as the model left it after re-masking
    TYPED_THROUGH = "typed_through"  # the rest of an earlier candidate that the user has begun to type


class Reason(StrEnum):
    """Why an answer has no candidates. Every silence has exactly one."""

    BLANK = "blank"  # nothing was found worth saying, not even a weak proposal
    LOW_CONFIDENCE = "low_confidence"  # there were proposals, all below the show threshold
    ONE_KEY = "one_key"  # the best proposal is a single character: as quick to type as to take
    DEADLINE = "deadline"  # the budget ran out before a whole candidate stood
    CANCELLED = "cancelled"  # the client withdrew the request
    SUPERSEDED = "superseded"  # a newer request for the same document took its place
    DELETION = "deletion"  # the last edit deleted text; only an explicit request is answered
    UNDO = "undo"  # the last edit undid or redid another; likewise
    DISABLED = "disabled"  # switched off, for everything or for this language
    EXCLUDED = "excluded"  # the file matches an exclude pattern
    UNSUPPORTED = "unsupported"  # binary, too large, or not a text document we know
    LOADING = "loading"  # the model is still being loaded
    WORKER_FAILED = "worker_failed"  # the worker died or could not start


@dataclass(frozen=True, slots=True)
class Hole:
    """The extent of what may be filled in at the cursor.

    `max_lines` is 1 when the text may hold no line break. `indent` is the leading whitespace of the cursor's
    line. `closers` are the closing delimiters the text must not repeat because they already stand to the right.
    """

    kind: HoleKind
    max_lines: int = 1
    indent: str = ""
    closers: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A continuation found elsewhere in the project.

    `copied` is how many characters left of the hole are the same there; `analogous` how many have their like there,
    names being exchanged. Either is 0 where it was not found that way. `share` is its part of the votes of all the
    places that are like the hole.
    """

    text: str
    copied: int = 0
    analogous: int = 0
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The text of a project's files around a document, nearest first. The same text has the same name.

    `files` are their paths, relative to the project, each with the offset in `text` where the file begins. A text
    without them is one file without a path.
    """

    text: str = ""
    name: str = ""
    files: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, text: str, files: tuple[tuple[str, int], ...] = ()) -> "Surroundings":
        """A text with its name, which depends on the files too."""
        named = "\0".join([text, *(f"{path}:{start}" for path, start in files)])
        return cls(text, blake2b(named.encode(errors="replace"), digest_size=8).hexdigest() if text else "", files)

    def each(self) -> Iterator[tuple[str, str]]:
        """The path and the text of every file."""
        starts = self.files or (("", 0),)
        ends = (*(start for _, start in starts[1:]), len(self.text))
        for (path, start), end in zip(starts, ends, strict=True):
            yield path, self.text[start:end]


@dataclass(frozen=True, slots=True)
class InfillRequest:
    """One hole with what stands on both sides of it.

    `prefix` ends at the cursor and `suffix` begins there; both are windows, cut to what the model is to see.
    `language` is an LSP language identifier. A `hole` or `drafts` of None means: let the engine work them out
    from the two windows. Equal requests have equal answers, so the request itself is the cache key.
    `surroundings` names the `Surroundings` of the document, "" if there are none. `path` is the document's own,
    relative to its project, "" if it lies in none.
    `show_from` is the least confidence of the best candidate at which the user wants to see them unasked, None for what
    the model's makers chose: what nobody has seen, nobody types into.
    `beyond` is more of the text left of the prefix and right of the suffix, in which words are counted and nothing is
    read; it is not part of what makes requests equal.
    """

    prefix: str
    suffix: str
    language: str = "python"
    hole: Hole | None = None
    drafts: tuple[Draft, ...] | None = None
    candidates: int = 4
    surroundings: str = ""
    show_from: float | None = None
    beyond: tuple[str, str] = field(default=("", ""), compare=False)
    path: str = ""

    def around(self, partial_word: str) -> tuple[str, str]:
        """All the text left of the cursor's word and right of the hole that the request has."""
        left, right = self.beyond
        return left + self.prefix[: len(self.prefix) - len(partial_word)], self.suffix + right


@dataclass(frozen=True, slots=True)
class Proposal:
    """A text as it leaves the sampler: not yet cleaned, checked, compared with others or given a confidence.

    Log-probabilities are natural logarithms under the model: mean and minimum over the text's tokens, and that of its
    length. `stability` is the share of positions that no longer changed in the last step.
    """

    text: str
    mean_logprob: float
    min_logprob: float
    length_logprob: float = 0.0
    stability: float = 1.0
    tokens: int = 1
    draft: Draft | None = None  # that the text began as
    partial: bool = False
    steps: int = 0
    source: Source = Source.MODEL
    draft_logprob: float | None = None  # mean over the tokens of the model's own draft that the text began as
    logprob: float | None = None  # of the whole text, where the model was asked for it


@dataclass(frozen=True, slots=True)
class Candidate:
    """One text for the hole.

    `confidence` estimates the probability that it is what the user wants. `partial` marks the trustworthy left
    part of a text the deadline cut off. `steps` counts the denoising steps it has been through.
    """

    text: str
    confidence: float
    partial: bool = False
    steps: int = 0
    source: Source = Source.MODEL


@dataclass(frozen=True, slots=True)
class Answer:
    """All that is known after a request: candidates best first, or the reason there are none.

    `show_from` is the least confidence of the best of them at which they are to be shown unasked.
    """

    candidates: tuple[Candidate, ...] = ()
    reason: Reason | None = None
    encode_ms: float = 0.0
    denoise_ms: float = 0.0
    elapsed_ms: float = 0.0
    cached: bool = False
    unread: bool = False  # the model had no time to read all of the text around the hole
    final: bool = True  # no second try would come to more
    show_from: float = 0.0
    user_message: str = ""  # what the user should know and can mend

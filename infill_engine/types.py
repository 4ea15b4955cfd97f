"""The plain values that pass between packages. Frozen, hashable, and independent of torch and LSP.

Offsets are in characters (Unicode code points) unless a name says otherwise; times are in milliseconds.
"""

from collections.abc import Iterator, Sequence
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

    MODEL = "model"  # denoised from masks, or generated from left to right
    RETRIEVAL = "retrieval"  # a continuation found elsewhere, unchanged or revised by the model after re-masking
    TYPED_THROUGH = "typed_through"  # the rest of an earlier candidate that the user has begun to type


class Eagerness(StrEnum):
    """How readily candidates appear unasked."""

    QUIET = "quiet"
    BALANCED = "balanced"
    EAGER = "eager"


class Reason(StrEnum):
    """Why an answer has no candidates. Every empty answer has exactly one reason."""

    BLANK = "blank"  # no text was left after cleaning and ranking
    LOW_CONFIDENCE = "low_confidence"  # all proposals were below the show threshold
    ONE_KEY = "one_key"  # the best proposal is a single character: accepting it saves no keystroke
    DEADLINE = "deadline"  # time ran out before the first whole candidate
    CANCELLED = "cancelled"  # the client cancelled the request
    SUPERSEDED = "superseded"  # a newer request for the same document replaced it
    DELETION = "deletion"  # the last edit deleted text; only an explicit request is answered
    UNDO = "undo"  # the last edit undid or redid another; only an explicit request is answered
    DISMISSED = "dismissed"  # the user dismissed it here, or typed past it; only an explicit request is answered
    DISABLED = "disabled"  # disabled for all languages or for this one
    EXCLUDED = "excluded"  # the file matches an exclude pattern
    UNSUPPORTED = "unsupported"  # binary, too large, not a supported text document, or more holes than the model fills
    LOADING = "loading"  # the model is still being loaded
    WORKER_FAILED = "worker_failed"  # the engine died or could not start
    FAILED = "failed"  # a fault in the server, which the log names


OVERTAKEN = (Reason.SUPERSEDED, Reason.CANCELLED)  # nobody waits for the answer any more


@dataclass(frozen=True, slots=True)
class Level:
    """What a level of eagerness means for a model: the minimum confidence of what is shown unasked.

    If measured, `shown` is the share of keystrokes with something shown, and `wrong` the share nobody would accept.
    """

    show_from: float
    shown: float | None = None
    wrong: float | None = None


@dataclass(frozen=True, slots=True)
class Hole:
    """The extent of the text that may be inserted at the cursor.

    `max_lines` is 1 if no text is sought beyond a line break; cleaning may still close a block. `indent` is the leading
    whitespace of the cursor's line. `closers` are the closing delimiters that are already to the right of the hole; the
    text must not repeat them.
    """

    kind: HoleKind
    max_lines: int = 1
    indent: str = ""
    closers: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """What follows a hole if it is not the last one: `known` text, which stays as it is, and the next hole.

    A hole that `repeats` an earlier one, numbered from 0, gets its text. Otherwise a `hole` that is None is derived.
    """

    known: str
    hole: Hole | None = None
    repeats: int | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A continuation found elsewhere in the project.

    `copied` counts the characters left of the hole that are the same there; `analogous` counts those that match once
    names are exchanged. Each is 0 if the draft was not found by that kind of match. `share` is the draft's share of the
    votes of all similar places. `sure` is its probability if the file or the project leaves no choice, or else 0.
    """

    text: str
    copied: int = 0
    analogous: int = 0
    share: float = 1.0
    sure: float = 0.0


@dataclass(frozen=True, slots=True)
class ProjectText:
    """The text of a project's files around a document, nearest first. Equal texts have equal names.

    `files` are the paths, relative to the project, each with the offset in `text` where the file begins. A text without
    `files` is one file without a path.
    """

    text: str = ""
    name: str = ""
    files: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, text: str, files: tuple[tuple[str, int], ...] = ()) -> "ProjectText":
        """Return a text with its name, which is a hash of the text and the files."""
        named = "\0".join([text, *(f"{path}:{start}" for path, start in files)])
        return cls(text, blake2b(named.encode(errors="replace"), digest_size=8).hexdigest() if text else "", files)

    def each(self) -> Iterator[tuple[str, str]]:
        """Yield the path and the text of every file."""
        starts = self.files or (("", 0),)
        ends = (*(start for _, start in starts[1:]), len(self.text))
        for (path, start), end in zip(starts, ends, strict=True):
            yield path, self.text[start:end]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The text on both sides of a place, which is cut to windows, and where it is.

    `path` is relative to the document's project, "" if it is in none. `project_name` is that of the document's
    `ProjectText`, "" if there is none. `wider_context` is more of the text on both sides, for counts and snippets. It
    does not count for equality.
    """

    prefix: str
    suffix: str
    language: str = "python"
    path: str = field(default="", kw_only=True)
    project_name: str = field(default="", kw_only=True)
    wider_context: tuple[str, str] = field(default=("", ""), compare=False, kw_only=True)

    def around(self, partial_word: str) -> tuple[str, str]:
        """Return all the text left of the cursor's word and right of the place."""
        left, right = self.wider_context
        return left + self.prefix[: len(self.prefix) - len(partial_word)], self.suffix + right


@dataclass(frozen=True, slots=True)
class InfillRequest(Surroundings):
    """Asks for texts that complete a hole at the cursor, between `prefix` and `suffix`.

    If `hole` or `drafts` is None, the engine derives it. `show_from` is the confidence from which the best candidate is
    shown unasked; a level of eagerness stands for the model's own threshold at that level.
    `indent` is a level of indentation, "" if unknown. Equal requests share one answer; an `explicit` one, which the
    user waits for, does not take one that is `cut_short`.
    """

    hole: Hole | None = None
    drafts: tuple[Draft, ...] | None = None
    candidates: int = 4
    show_from: float | Eagerness = Eagerness.BALANCED
    indent: str = ""
    explicit: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Holes:
    """The texts that are `replaced`, one for each hole, and the `gaps` between the holes.

    Without replaced texts, the holes are empty.
    """

    replaced: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()

    def middle(self, fills: Sequence[str]) -> str:
        """Return the text from the first hole to the last one, given the text of each hole."""
        return fills[0] + "".join(gap.known + fill for gap, fill in zip(self.gaps, fills[1:], strict=True))

    @property
    def text(self) -> str:
        """The replaced text from the first hole to the last one; "" if there is none."""
        return self.middle(self.replaced) if self.replaced else ""

    @property
    def free(self) -> int:
        """The number of holes that repeat no other."""
        return 1 + sum(gap.repeats is None for gap in self.gaps)


ONE_HOLE = Holes()


@dataclass(frozen=True, slots=True)
class AlternativesRequest(Surroundings):
    """Asks for other texts in the place of some, or for the texts of several holes.

    `prefix` ends where the first hole begins, and `suffix` begins where the last one ends. `hole` is the first one; if
    it is None, the engine derives it.
    """

    hole: Hole | None = None
    holes: Holes = ONE_HOLE
    candidates: int = 4


TextRequest = InfillRequest | AlternativesRequest


@dataclass(frozen=True, slots=True)
class ProposedText:
    """A text as it leaves the sampler: not yet cleaned, checked, compared with others or given a confidence.

    Log-probabilities are natural logarithms under the model: the mean and the minimum over the text's tokens, and that
    of its length. `stability` is the share of positions that did not change in the last step.
    """

    text: str
    mean_logprob: float
    min_logprob: float
    length_logprob: float = 0.0
    stability: float = 1.0
    tokens: int = 1
    draft: Draft | None = None  # the draft that the text began as
    partial: bool = False
    passes: int = 0
    source: Source = Source.MODEL
    draft_logprob: float | None = None  # of a text that the model began itself: the mean of what it wrote at first
    logprob: float | None = None  # of the whole text, if the model computed it
    fills: tuple[str, ...] = ()  # the text of each hole, if there are several; `text` contains the known text too


@dataclass(frozen=True, slots=True)
class Candidate:
    """One text for the hole, or for all holes of a request.

    `confidence` estimates the probability that the text is what the user wants. `partial` marks the reliable left part
    of a text that the deadline cut off. `passes` counts the model's passes behind it. With several holes, `fills` are
    their texts, and `text` reaches from the first to the last one. `gain` says how much likelier than the replaced text
    an alternative is, in nats per token; None if the model did not compute both.
    """

    text: str
    confidence: float
    partial: bool = False
    passes: int = 0
    source: Source = Source.MODEL
    fills: tuple[str, ...] = ()
    gain: float | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """A text that was proposed and is not among the candidates.

    `step` names what removed it: a rule of `ranking/cleanup/` or a step of `ranking/rank.py`. `confidence` is None if
    the text was removed before it had one.
    """

    step: str
    text: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a request: candidates, best first, or the reason there are none.

    `show_from` is the minimum confidence of the best candidate for showing them unasked.
    """

    candidates: tuple[Candidate, ...] = ()
    reason: Reason | None = None
    read_ms: float = 0.0  # for the text around the hole
    compute_ms: float = 0.0  # for the proposals
    elapsed_ms: float = 0.0
    cached: bool = False
    incomplete_context: bool = False  # the model had no time to read all of the text around the hole
    final: bool = True  # a second try would not find more
    cut_short: bool = False  # an explicit request, which has more time, would find more
    show_from: float = 0.0
    user_message: str = ""  # a problem that the user should know about and can fix

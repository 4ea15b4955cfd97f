"""The values of next edits. Frozen, hashable, free of torch, of tree-sitter and of LSP.

Offsets are in characters (Unicode code points). "Before" is the text before the user's edit, "after" the text after it.

    value            what it is                                   offsets in     made by             read by
    Change           the user replaced a part of a text           before         the server's log    changes, finders
    EditedText       changes with both texts and the edits so far before         the server's log    find
    ParsedEdit       the same with both texts parsed              before         find                finders, checks
    Edit             a part of a text to replace; `Span` is where after          finders, by_model   the editor
    Proposal         edits that belong together                   after          finders, by_model   the server, editor
    SimilarPlace     edits of one place like the user's           after          similar             finders
    Consequences     proposals, or why there are none             after          find                the server
    PastEdit         lines that the user replaced in some file    none: lines    by_model            the model's prompt
    NextEditRequest  a text and past edits, for a model           after; rows    the server          by_model
    Region           lines of it that the model may change        after; rows    by_model            sampling, ranking
    ScoredChange     lines that the model changes in a region     region's rows  sampling            ranking, by_model
    Changes          the scored changes of a region, perhaps all  region's rows  sampling            the engine
    NextEdits        proposals of a model, or why there are none  after          the engine          the server
    TextChange       a change as the client sends it              rows, columns  handlers            documents
    EditStep         a `TextChange` and the texts around it       rows, columns  documents           the server's log
    DocumentChange   the steps of one notification                rows, columns  documents           the server's log
    Edited, Burst    the log's: one change; those at one place    before         the server's log    the server's log
    ShownProposal    a proposal by the id that the client knows   now            the server          the editor
"""

from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto

from infill_engine.types import Eagerness, ProjectText, Reason, Surroundings

MOST_PROPOSALS = 4  # of an answer
MOST_REGIONS = 3  # of a text that a model is asked about after an edit


class Kind(StrEnum):
    """The kinds of proposals. The properties are all that distinguishes them: a new kind takes its place in each."""

    RENAME = "rename"
    SIGNATURE = "signature"  # calls follow the parameters of a function
    FIELD = "field"  # a field and the constructor that sets it
    LITERAL = "literal"  # a repeated literal
    SIMILAR_LINE = "twin"  # a line of the same shape
    SIMILAR_PLACE = "alike"  # a place of the same shape as one that was edited
    MODEL = "model"  # what the language model expects next

    @property
    def comes_first(self) -> bool:
        """Whether it is ranked before similar places and what the model proposes. If the newest edit has such a
        proposal, older ones are not searched. Where a part of a long text is read, it must lie in that part."""
        return self in (Kind.RENAME, Kind.SIGNATURE, Kind.FIELD, Kind.LITERAL, Kind.SIMILAR_LINE)

    @property
    def is_necessary(self) -> bool:
        """Whether the code may be wrong without it. What follows an example gives way where the two touch."""
        return self in (Kind.RENAME, Kind.SIGNATURE, Kind.FIELD)

    @property
    def has_values_to_write(self) -> bool:
        """Whether it may use names that nobody has defined yet, as values for the user to replace."""
        return self in (Kind.SIGNATURE, Kind.FIELD)

    @property
    def follows_example(self) -> bool:
        """Whether the user's edit is an example, which is made again elsewhere. Half-written edits are no examples, and
        an example that was also made the other way round suggests nothing."""
        return self in (Kind.SIMILAR_LINE, Kind.SIMILAR_PLACE)


class NoEditReason(StrEnum):
    """Why there is no proposal. Every answer without proposals has exactly one."""

    NOTHING_EDITED = "nothing_edited"  # no edit since the document was opened
    NO_CONSEQUENCE = "no_consequence"  # everything still fits
    HALF_WRITTEN = "half_written"  # the edit broke the syntax: its other half is still to come
    AMBIGUOUS = "ambiguous"  # a name was changed, and its other uses may mean something else
    LOW_CONFIDENCE = "low_confidence"  # all proposals were below the threshold
    UNDO = "undo"  # the text was there before
    BULK = "bulk"  # a paste, a large or a scattered change
    DISMISSED = "dismissed"  # only proposals that the user has dismissed
    DISABLED = "disabled"
    EXCLUDED = "excluded"
    UNSUPPORTED = "unsupported"  # no grammar or no query of local names
    TOO_LARGE = "too_large"  # the consequence may reach beyond the examined part of the document
    STALE = "stale"  # the request is for a version that is not the newest
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    LOADING = "loading"  # nothing exact follows, and the model is still being loaded
    DEADLINE = "deadline"  # nothing exact follows, and the model found nothing in time
    WORKER_FAILED = "worker_failed"  # nothing exact follows, and the engine does not run
    FAILED = "failed"


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One edit by the user: `new` replaces the earlier text from `start` to `end`."""

    start: int
    end: int
    new: str

    @property
    def growth(self) -> int:
        """How many characters longer the text becomes."""
        return len(self.new) - (self.end - self.start)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a text, with the text there. An empty span is a place for an insertion."""

    start: int
    end: int
    text: str

    def replaces(self, at: int) -> bool:
        """Return whether the span has text, and a place is in it or at one of its ends."""
        return self.start <= at <= self.end and self.end > self.start


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """`new` for a span of the text as it is after the user's edit."""

    span: Span
    new: str

    @classmethod
    def insertion(cls, at: int, new: str) -> "Edit":
        """Return the edit that inserts a text at a place."""
        return cls(Span(at, at, ""), new)

    @property
    def change(self) -> Change:
        """The same without the text that is replaced."""
        return Change(self.span.start, self.span.end, self.new)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Edits to be applied together or not at all: sorted, without overlap.

    `confidence` estimates the probability that the user wants all of them.
    """

    edits: tuple[Edit, ...]
    label: str
    confidence: float
    kind: Kind


@dataclass(frozen=True, slots=True)
class EditedText:
    """A text before and after the user's edit. `changes` are sorted and do not touch each other.

    `cursor` is the offset in `after` where the user types, None if nobody does. `history` has the last edits, including
    this one: the lines before and after each, the newest last. `path` is relative to the document's `project`, whose
    files say how names are imported. `elsewhere` has newer edits of other open documents.
    """

    before: str
    after: str
    changes: tuple[Change, ...]
    language: str
    cursor: int | None = None
    history: tuple[tuple[str, str], ...] = ()
    path: str = ""
    project: ProjectText = field(default_factory=ProjectText)
    elsewhere: tuple["EditedText", ...] = ()


class MayAsk(Enum):
    """Whom to ask after an edit that has no exact consequence."""

    MODEL = auto()  # complete the line at the cursor; if that gives nothing, ask the model for next edits
    LINE = auto()  # complete the line, and nothing more: the edit broke the syntax, and its other half is to come
    NOBODY = auto()  # nothing follows: formatting, a comment, a bulk change, what the user has dismissed


@dataclass(frozen=True, slots=True)
class Consequences:
    """Proposals, best first, or the reason there are none. `may_ask` says who may still propose something then."""

    proposals: tuple[Proposal, ...] = ()
    reason: NoEditReason | None = None
    may_ask: MayAsk = MayAsk.MODEL

    @property
    def asks_model(self) -> bool:
        """Whether the model is asked next."""
        return not self.proposals and self.may_ask is MayAsk.MODEL


@dataclass(frozen=True, slots=True)
class PastEdit:
    """Lines that the user replaced in a file: `old` became `new`. `above` and `below` are those around them."""

    path: str
    old: str
    new: str
    above: str = ""
    below: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error that another language server reports: its row, from 0 at its text's first line, and what it says."""

    row: int
    message: str


@dataclass(frozen=True, slots=True)
class NextEditRequest:
    """Asks a model what follows from the user's last edits of a text.

    `rows` [first, last) of the text were edited last. `history` has the last edits of all documents, the newest last,
    and `diagnostics` the errors in the text. `cursor` is the offset where the user types, None if nobody does. `path`
    is relative to the document's project, and `project_name` is that of its text; either may be "". `show_from` is the
    confidence from which completions appear unasked, or a level of eagerness; see `edits_from`.
    """

    text: str
    rows: tuple[int, int]
    language: str
    path: str
    history: tuple[PastEdit, ...]
    cursor: int | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    project_name: str = ""
    show_from: float | Eagerness = Eagerness.BALANCED


@dataclass(frozen=True, slots=True)
class NextEdits:
    """A model's answer to a `NextEditRequest`: proposals, best first, or the reason there are none."""

    proposals: tuple[Proposal, ...] = ()
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """Whole lines of a text that a model may change, without their ends. `start` is the offset of the first one.

    Those from `fixed[0]` to before `fixed[1]` stay as they are. `around` is the text around the region. `history` is
    what may be told of the request's, and `diagnostics` are errors in the region. Rows count from its first line.
    """

    start: int
    lines: tuple[str, ...]
    fixed: tuple[int, int]
    around: Surroundings
    history: tuple[PastEdit, ...]
    diagnostics: tuple[Diagnostic, ...] = ()

    def is_fixed(self, row: int) -> bool:
        """Return whether a line stays as it is."""
        return self.fixed[0] <= row < self.fixed[1]

    def with_change(self, change: "ScoredChange") -> list[str]:
        """Return the lines after a change."""
        return [*self.lines[: change.row], *change.inserted, *self.lines[change.row + len(change.removed) :]]


@dataclass(frozen=True, slots=True)
class ScoredChange:
    """A change of some lines of a region, and how the model scored it; natural logarithms.

    `row` is the first changed line, counted from the region's first one. The lines that are `removed` and `inserted`
    have no line ends. `worth`: a change begins at this line, corrected for what the line has in common with the newest
    edits. `new`: the new lines, of `tokens` tokens, and `least` the least likely of these. `parting`: how much likelier
    the new text is than the old one at the token where they part. `ends`: nothing else changes after them.
    """

    worth: float
    new: float
    least: float
    tokens: int
    parting: float
    ends: float
    row: int
    removed: tuple[str, ...]
    inserted: tuple[str, ...]


def counted(count: int, noun: str) -> str:
    """Return a number of things in words, for a label."""
    return f"{count} {noun}{'s' if count > 1 else ''}"


def applied(text: str, edits: tuple[Edit, ...]) -> str | None:
    """Return the text with all edits applied; None if the text at one of the places differs."""
    parts, at = [], 0
    for edit in sorted(edits):
        span = edit.span
        if span.start < at or text[span.start : span.end] != span.text:
            return None
        parts += [text[at : span.start], edit.new]
        at = span.end
    return "".join(parts) + text[at:]

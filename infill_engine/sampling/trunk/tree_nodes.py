"""The values of a tree of tokens: its nodes, the whole texts it found, and what an observer sees of it."""

from dataclasses import dataclass

from infill_engine.sampling.trunk.middle import EndRules


@dataclass(slots=True)
class Node:
    """A token after its parent's text. Log-probabilities are natural; None while they are unknown."""

    token: int
    parent: int
    depth: int  # of the token in its text, from 0; -1 for the root
    text: bytes
    start: bytes  # the part of the word at the hole's beginning that remains to be spelled
    rules: EndRules  # of the hole that the token is in
    fills: tuple[bytes, ...] = ()  # the texts of the holes before it
    opened: int = 0  # where the text of its hole begins in `text`, after the word at the hole's beginning
    known: bool = False  # a token of known text, after which only known text or the end may follow
    endings: tuple[int, ...] = ()  # tokens of `rules.last` that end the replaced text here
    logprob: float | None = None  # of the text up to this token
    assumed_logprob: float = 0.0  # of the token after its parent, until the model has scored it
    proposed: bool = False  # by the model, as one of its likeliest
    denoised: bool = False  # proposed by a block of masks, and never retrieved
    slot: int = -1  # of its keys and values, once the model has seen it
    seen: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """A whole text: its bytes, starting with the cursor's word, and the log-probabilities of its tokens.

    `ending` is the log-probability of its end. `proposed` says whether the model itself proposed the text. `fills` are
    the texts of the holes.
    """

    text: bytes
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    ending: float
    proposed: bool
    fills: tuple[bytes, ...] = ()

    @property
    def logprob(self) -> float:
        """The log-probability of the text and its end."""
        return sum(self.logprobs) + self.ending


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A text up to one of its tokens, in bytes.

    `logprob` is that of the text so far, or None until the model has scored the token. `seen`: the model has read it.
    `denoised_logprob` is that of a token that a block of masks proposes, as long as the model has not scored it.
    """

    text: bytes
    logprob: float | None
    seen: bool
    denoised_logprob: float | None = None


@dataclass(frozen=True, slots=True)
class TreeStep:
    """The finished texts of a search after a pass, then the likeliest others, each as its pieces from the first on."""

    number: int
    texts: tuple[tuple[TextPiece, ...], ...]

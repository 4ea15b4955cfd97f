"""The text from the first hole to the last one: where each hole may end, and which known text follows it.

    hole 0 ──▶ known text ──▶ hole 1 ──▶ known text, a repeated name, known text ──▶ end

With a single hole, there is no known text. Known text is a run of tokens that a search reads and scores without
branching. A hole that repeats another one is known as soon as that one is filled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.text.delimiters import QUOTES
from infill_engine.text.lines import first_line, with_plain_ends
from infill_engine.types import Gap, Hole

Ints = NDArray[np.int64]
NOTHING: Ints = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class EndRules:
    """Where the text of a hole may end. `ends` are the tokens that end it and are not part of it.

    `last` are tokens with text before a line break: in a hole of one line, they end the text after that part. Inside a
    line (`in_brackets`) a text must close the brackets it opens, and may close no others. `forbidden` tokens may not
    occur in a text. `middle` says what follows the text; None for the last hole.
    """

    ends: Ints
    last: Ints
    forbidden: Ints
    in_brackets: bool = False
    middle: "Middle | None" = None
    excluded: frozenset[int] = field(init=False)  # `forbidden` as a set

    def __post_init__(self) -> None:
        object.__setattr__(self, "excluded", frozenset(self.forbidden.tolist()))


@dataclass(frozen=True, slots=True)
class Known:
    """The known text after a hole, as tokens; empty only if a token of the hole ends with all of it.

    `fills` are the texts of the holes that are filled by then. If a hole follows (`opens`), `start` is the part of its
    first word that is known text too, and `rules` are its own. Otherwise `rules` are those of the end.
    """

    tokens: tuple[int, ...]
    start: bytes
    fills: tuple[bytes, ...]
    rules: EndRules
    opens: bool


@dataclass(frozen=True, eq=False)
class Middle:
    """The holes of a request after the first one."""

    vocabulary: TokenizerVocabulary
    gaps: Sequence[Gap]
    rules: list[EndRules] = field(default_factory=list)  # of each hole; of a repeating one, those of its end

    def after(self, fills: Sequence[bytes], broken: bytes = b"") -> Known | None:
        """Return what follows once these holes are filled; None if a text is empty or ends inside a character.

        The last text may end inside a token. `broken` is the rest of that token. The known text must begin with
        `broken`, and the result omits it.
        """
        try:
            texts = [fill.decode() for fill in fills]
        except UnicodeDecodeError:
            return None
        if not all(texts):
            return None
        known, opens = "", False
        for gap in self.gaps[len(texts) - 1 :]:
            known += with_plain_ends(gap.known)
            if gap.repeats is None:
                opens = True
                break
            texts.append(texts[gap.repeats])
            known += texts[-1]
        if not known.startswith(broken.decode()):
            return None
        return self._known(known[len(broken) :], tuple(text.encode() for text in texts), opens=opens)

    def _known(self, text: str, fills: tuple[bytes, ...], *, opens: bool) -> Known:
        run, start = self.vocabulary.split_partial_word(text) if opens else (text, "")
        if not run:  # a token is needed to tell the holes apart
            run, start = text, ""
        rules = self.rules[len(fills) if opens else -1]
        return Known(tuple(self.vocabulary.encode(run)), start.encode(), fills, rules, opens)


def rules_of(vocabulary: TokenizerVocabulary, hole: Hole, suffix: str, gaps: Sequence[Gap]) -> EndRules:
    """Return the rules of the first hole, which lead to those of the holes after the gaps."""
    middle = Middle(vocabulary, gaps) if gaps else None
    holes = [hole, *(gap.hole or hole for gap in gaps)]
    rights = [*(gap.known or suffix for gap in gaps), suffix]
    for number, (one, right) in enumerate(zip(holes, rights, strict=True)):
        last = number == len(gaps)
        rules = rules_for(vocabulary, one, first_line(right), None if last else middle)
        if middle is None:
            return rules
        middle.rules.append(rules)
    assert middle is not None  # otherwise the loop has returned
    return middle.rules[0]


def rules_for(vocabulary: TokenizerVocabulary, hole: Hole, right: str, middle: Middle | None = None) -> EndRules:
    """Return the rules of one hole. `right` is the rest of the line after it, blank at the line's end."""
    breaks, at_once = vocabulary.breaks_line(), vocabulary.breaks_line(at_once=True)
    one_line, inside = hole.max_lines == 1, bool(right.strip())
    end = np.array([vocabulary.end])
    ends = [end]
    if inside:
        ends += vocabulary.completions_of(f"{right}\n".encode(errors="ignore"))
    elif one_line:
        ends.append(at_once)
    forbidden = np.concatenate([vocabulary.never(), end, breaks if one_line else NOTHING])
    last = np.setdiff1d(breaks, at_once) if one_line and not inside else NOTHING
    return EndRules(np.concatenate(ends), last, forbidden, stands_in_brackets(right), middle)


def stands_in_brackets(right: str) -> bool:
    """Return whether a text left of `right` is between brackets rather than at a line's end or in a string."""
    return bool(right.strip()) and right[0] not in QUOTES

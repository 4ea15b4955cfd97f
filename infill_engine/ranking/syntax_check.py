"""How much a text breaks the syntax: the faults that it adds to those already there."""

from collections.abc import Sequence
from functools import lru_cache

from infill_engine.text import syntax
from infill_engine.text.embedded import within_embedded
from infill_engine.text.languages import language as language_named
from infill_engine.types import InfillRequest

PLACEHOLDER = "x"  # fills the hole to measure how broken the surroundings are by themselves
BREAKS = 1.0  # relative new faults, see `new_faults`, from which a text counts as broken


def brokenness(new_faults: float) -> int:
    """0 for a text that adds no fault, 1 for one whose faults may be the parser's, 2 for one that breaks the syntax.

    Of 932 texts with brokenness 1, four were right (holes in packages held out for calibration).
    """
    return 0 if new_faults <= 0 else 1 if new_faults < BREAKS else 2


def new_faults(texts: Sequence[str], request: InfillRequest) -> list[float]:
    """How many more faults each text leaves than the best possible filling, divided by one more than the faults of the
    best filling; 0 without a grammar.

    The best filling is nothing, a name, or the best of the texts.
    """
    request = within_embedded(request)
    if not texts or syntax.parser_for(request.language) is None:
        return [0.0] * len(texts)
    prefix, suffix, least = _surroundings(request)
    found = [_faults(prefix + text + suffix, request.language) for text in texts]
    least = min(least, *found)
    return [(count - least) / (1 + least) for count in found]


def leaves_faults(text: str, request: InfillRequest) -> bool:
    """Whether there are faults with `text` in the hole, where there are some without it too; False without a grammar.

    Where a name or nothing fills the hole without a fault, `new_faults` has counted those of the text.
    """
    request = within_embedded(request)
    if syntax.parser_for(request.language) is None:
        return False
    prefix, suffix, least = _surroundings(request)
    return least > 0 and _faults(prefix + text + suffix, request.language) > 0


@lru_cache(maxsize=4)
def _surroundings(request: InfillRequest) -> tuple[str, str, int]:
    """Return the windows, or a part of them that parses, with the number of faults they have by themselves.

    A window may begin inside a docstring or an argument list, which makes its parse meaningless. Starting at a
    definition fixes about half of these cases.
    """
    starts = language_named(request.language).code.starts
    headers = [] if starts is None else [match.start() for match in starts.finditer(request.prefix)]
    best: tuple[str, str, int] | None = None
    for start in dict.fromkeys([0, *headers[:1], *headers[-1:]]):
        prefix = request.prefix[start:]
        for filling in (PLACEHOLDER, ""):
            count = _faults(prefix + filling + request.suffix, request.language)
            if best is None or count < best[2]:
                best = (prefix, request.suffix, count)
            if not count:
                return best
    assert best is not None  # the loop runs at least for the whole window
    return best


def _faults(text: str, language: str) -> int:
    tree = syntax.parse(syntax.opened(text, language), language)
    return 0 if tree is None else syntax.faults(tree)

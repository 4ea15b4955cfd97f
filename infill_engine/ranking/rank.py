"""From cleaned guesses to candidates: what parses comes first, what is probable next, and nothing twice."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields

from infill_engine.errors import ModelDamagedError
from infill_engine.ranking.context_features import Nearby
from infill_engine.text import syntax
from infill_engine.types import Candidate, Guess, Hole, HoleKind, InfillRequest, Source

PLACEHOLDER = "x"  # stands in the hole to learn how broken the surroundings are without it
PAIRS, TIMES = "pairs", "*"  # in a file of weights
MOST_FAULTS = 3.0  # more new faults than this make no difference
LEAST_LIKELIHOOD = -30.0  # a logarithm: what is less likely than this is as good as impossible
BREAKS = 1.0  # new faults, for each one that is there anyway and one more, from which on a text counts as broken

_SPACES = re.compile(r"\s+")
_HEADER = re.compile(r"^[ \t]*(?:async def|def|class|@|from|import|func|fn|function)\b.*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Features:
    """What the confidence of a guess is computed from; every value grows with what its name says.

    Log-probabilities are natural and not positive; `share` is the logarithm of a draft's share of the votes. Counts are
    logarithms, too: `tokens` is ln(tokens), the other ones ln(1 + characters).
    """

    mean_logprob: float
    min_logprob: float
    length_logprob: float
    stability: float
    new_faults: float
    copied: float  # 1 where the text began as a copy
    matched: float  # left of the hole and of the place it was copied from
    analogous: float  # 1 where it began as an analogy
    alike: float  # left of the hole and of the place it was carried over from
    share: float
    agreement: float  # 1 where model and draft came to the same text
    tokens: float
    characters: float
    unknown: float  # the share of its names that do not stand around the hole
    echo: float  # 1 / lines to the nearest one that says the same as the hole's line with it; 0 where none does
    redefines: float  # 1 where it defines what has been defined in the same body
    partial: float
    written: float  # 1 where the text began as the family's own draft
    fluency: float  # the mean log-probability of that draft as it was written; 0 elsewhere
    judged: float  # 1 where the family's prompt was asked how likely the text is
    likelihood: float  # its share of the likelihood of all texts that were judged; 0 elsewhere
    log_likelihood: float  # the logarithm of its likelihood itself; 0 elsewhere
    inside_word: float  # 1 where the cursor stands behind the beginning of a word
    line: float  # 1 where the hole is of this kind
    expression: float
    statement: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of the logistic that turns `Features` into a probability. The defaults are set by hand.

    `pairs` are those of products of two features, by their names: "copied*tokens". `show_from` is the least such
    probability at which a first candidate is worth showing to somebody who did not ask. Fitted weights are kept beside
    the model they were fitted for, as the JSON of `to_json`.
    """

    show_from: float = 0.1
    pairs: Mapping[str, float] = field(default_factory=dict)
    bias: float = 0.6
    mean_logprob: float = 1.5
    min_logprob: float = 0.3
    length_logprob: float = 0.15
    stability: float = 0.4
    new_faults: float = -1.2
    copied: float = -0.5
    matched: float = 0.15
    analogous: float = -0.5
    alike: float = 0.15
    share: float = 0.3
    agreement: float = 1.2
    tokens: float = -0.25
    characters: float = 0.0
    unknown: float = 0.0
    echo: float = 0.0
    redefines: float = -1.0
    partial: float = -0.6
    written: float = 0.3
    fluency: float = 0.4
    judged: float = -0.5
    likelihood: float = 1.5
    log_likelihood: float = 0.0
    inside_word: float = 0.0
    line: float = 0.0
    expression: float = 0.0
    statement: float = 0.0

    def confidence(self, features: Features) -> float:
        """The probability, between 0 and 1, that a guess with these features is what the user wants.

        Of features that are no numbers it is 0: nothing is known.
        """
        values = asdict(features)
        score = self.bias + sum(getattr(self, name) * value for name, value in values.items())
        for pair, weight in self.pairs.items():
            one, other = pair.split(TIMES)
            score += weight * values[one] * values[other]
        return 0.0 if math.isnan(score) else 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))

    def to_json(self) -> str:
        """The weights by name."""
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Calibration":
        """The weights that `to_json` wrote; one not named keeps its default. Raises ModelDamagedError for others."""
        remedy = "Fetch the model again, or remove its calibration file to use the built-in weights."
        try:
            weights = json.loads(text)
        except ValueError as error:
            raise ModelDamagedError(f"The model's calibration is not JSON: {error}. {remedy}") from error
        if not isinstance(weights, dict):
            raise ModelDamagedError(f"The model's calibration is not an object of weights. {remedy}")
        pairs = weights.pop(PAIRS, {})
        if not isinstance(pairs, dict):
            raise ModelDamagedError(f"The pairs of the model's calibration are not an object of weights. {remedy}")
        single = {each.name for each in fields(cls)} - {PAIRS}
        features = {each.name for each in fields(Features)}
        for name, weight in (*weights.items(), *pairs.items()):
            parts = name.split(TIMES)
            if not (len(parts) == 2 and features.issuperset(parts) if name in pairs else name in single):
                raise ModelDamagedError(f"The model's calibration names an unknown weight, {name!r}. {remedy}")
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
                raise ModelDamagedError(f"The weight {name!r} of the model's calibration is not a number. {remedy}")
        return cls(**weights, pairs=pairs)


DEFAULT = Calibration()


def rank(
    guesses: Sequence[Guess], request: InfillRequest, hole: Hole, calibration: Calibration = DEFAULT
) -> tuple[Candidate, ...]:
    """The distinct texts of `guesses`, cleaned ones, most trustworthy first; at most `request.candidates`.

    Only the soundest are kept (`brokenness`). Faults count for less where the surroundings are broken, because there
    the parser's recovery adds some of its own.
    """
    judged = [
        (found.new_faults, calibration.confidence(found), guess) for guess, found in evidence(guesses, request, hole)
    ]
    least = min((brokenness(new) for new, _, _ in judged), default=0)
    judged = [entry for entry in judged if brokenness(entry[0]) == least]
    judged.sort(
        key=lambda entry: (
            entry[0] if entry[0] >= BREAKS else 0.0,
            -entry[1],
            entry[2].partial,
            len(entry[2].text),
            entry[2].text,
        )
    )
    return tuple(
        Candidate(guess.text, confidence, guess.partial, guess.steps, guess.source)
        for _, confidence, guess in judged[: request.candidates]
    )


def brokenness(new_faults: float) -> int:
    """0 for a text that adds no fault, 1 for one whose faults may be the parser's, 2 for one that breaks the syntax.

    Of 932 texts between, four were right (holes in packages held out for calibration).
    """
    return 0 if new_faults <= 0 else 1 if new_faults < BREAKS else 2


def evidence(guesses: Sequence[Guess], request: InfillRequest, hole: Hole) -> list[tuple[Guess, Features]]:
    """Each distinct text of `guesses`, cleaned ones, by its best guess, with what its confidence is computed from."""
    groups = _same_texts(guesses)
    faults = _new_faults([group[0].text for group in groups], request)
    nearby = Nearby.of(request.prefix, request.suffix)
    likelihoods = [_likelihood(group) for group in groups]
    return [
        (group[0], _features(group, new, likelihood, share, hole, nearby))
        for group, new, likelihood, share in zip(groups, faults, likelihoods, _shares(likelihoods), strict=True)
    ]


def _likelihood(group: Sequence[Guess]) -> float | None:
    return max((guess.likelihood for guess in group if guess.likelihood is not None), default=None)


def _shares(likelihoods: Sequence[float | None]) -> list[float | None]:
    """Shares of a whole from their logarithms; None stays None."""
    most = max((one for one in likelihoods if one is not None), default=0.0)
    parts = [None if one is None else math.exp(one - most) for one in likelihoods]
    whole = sum(part for part in parts if part is not None)
    return [None if part is None else part / whole for part in parts]


def _features(
    group: Sequence[Guess],
    new_faults: float,
    likelihood: float | None,
    share: float | None,
    hole: Hole,
    nearby: Nearby,
) -> Features:
    """The features of guesses that came to the same text, the most probable first.

    `likelihood` is the text's, a logarithm, and `share` its part of the likelihood of all.
    """
    best = group[0]
    sources = {guess.source for guess in group}
    drafts = [guess.draft for guess in group if guess.draft is not None]
    copied = max((draft.copied for draft in drafts), default=0)
    analogous = max((draft.analogous for draft in drafts), default=0)
    fluencies = [guess.fluency for guess in group if guess.fluency is not None]
    return Features(
        mean_logprob=max(best.mean_logprob, -20.0),
        min_logprob=max(best.min_logprob, -20.0),
        length_logprob=max(guess.length_logprob for guess in group),
        stability=best.stability,
        new_faults=min(new_faults, MOST_FAULTS),
        copied=float(copied > 0),
        matched=math.log1p(copied),
        analogous=float(analogous > 0),
        alike=math.log1p(analogous),
        share=math.log(max((draft.share for draft in drafts), default=1.0)),
        agreement=float({Source.MODEL, Source.RETRIEVAL} <= sources),
        tokens=math.log(max(best.tokens, 1)),
        characters=math.log1p(len(best.text)),
        unknown=nearby.unknown(best.text),
        echo=nearby.echo(best.text),
        redefines=float(nearby.redefines(best.text)),
        partial=float(best.partial),
        written=float(bool(fluencies)),
        fluency=max(fluencies, default=0.0),
        judged=float(share is not None),
        likelihood=share or 0.0,
        log_likelihood=max(likelihood or 0.0, LEAST_LIKELIHOOD),
        inside_word=float(nearby.inside_word),
        line=float(hole.kind is HoleKind.LINE),
        expression=float(hole.kind is HoleKind.EXPRESSION),
        statement=float(hole.kind is HoleKind.STATEMENT),
    )


def _same_texts(guesses: Sequence[Guess]) -> list[list[Guess]]:
    """The guesses by their text, blanks aside; within a group, whole texts before partial and probable ones first."""
    groups: dict[str, list[Guess]] = {}
    for guess in guesses:
        groups.setdefault(_SPACES.sub(" ", guess.text.strip()), []).append(guess)
    for group in groups.values():
        group.sort(key=lambda guess: (guess.partial, -guess.mean_logprob, guess.text, guess.source))
    return list(groups.values())


def _new_faults(texts: Sequence[str], request: InfillRequest) -> list[float]:
    """How many more faults each text leaves than the best that is possible here, for each fault there is anyway and
    one more; 0 without a grammar.

    The best is what the surroundings have with nothing in the hole, with a name in it, or with the fittest text.
    """
    if not texts or syntax.parser_for(request.language) is None:
        return [0.0] * len(texts)
    prefix, suffix, least = _surroundings(request)
    found = [_faults(prefix + text + suffix, request.language) for text in texts]
    least = min(least, *found)
    return [(count - least) / (1 + least) for count in found]


def _surroundings(request: InfillRequest) -> tuple[str, str, int]:
    """The windows, or a part of them that parses, with the faults they have by themselves.

    A window may begin amid a docstring or an argument list, and then its parse says little. Beginning at a definition
    mends that about every other time.
    """
    headers = [match.start() for match in _HEADER.finditer(request.prefix)]
    best: tuple[str, str, int] | None = None
    for start in dict.fromkeys([0, *headers[:1], *headers[-1:]]):
        prefix = request.prefix[start:]
        for filling in (PLACEHOLDER, ""):
            count = _faults(prefix + filling + request.suffix, request.language)
            if best is None or count < best[2]:
                best = (prefix, request.suffix, count)
            if not count:
                return best
    assert best is not None  # the loop has run for the whole window at least
    return best


def _faults(text: str, language: str) -> int:
    tree = syntax.parse(text, language)
    return 0 if tree is None else syntax.faults(tree)

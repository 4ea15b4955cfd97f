"""Proposes texts from a script, in passes that take time, for tests and demonstrations. Does not import torch.

    {"rules": [{"before": "x = ", "candidates": ["alpha(1)", "beta(2)"]}], "steps": 1, "step_ms": 0, "load_ms": 0}

The first rule whose `before` ends the prefix applies; an empty `before` always does. Its candidates become sure from
left to right in `steps` passes of `step_ms` each.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from infill_engine.budget.deadline import now, since
from infill_engine.budget.work import Costs, Job, OutOfTime, PassState, Phase, Work
from infill_engine.errors import InputError
from infill_engine.sampling.proposals import Proposals, unscored
from infill_engine.sampling.proposer import Capabilities, Proposer, Rehearsal
from infill_engine.sampling.trunk.tree_nodes import TextPiece, TreeStep
from infill_engine.types import ONE_HOLE, Draft, Hole, Holes, InfillRequest, ProposedText, Surroundings, TextRequest

SURE_LOGPROB, UNSURE_LOGPROB = -0.002, -0.5  # of a byte
EACH_LATER = -5.0  # log-probability of the length of each candidate after the first one
WARM_UP_MS = 5_000.0


@dataclass(frozen=True, slots=True)
class Script:
    """Which candidates follow which text, and how slowly they are computed."""

    rules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    steps: int = 1
    step_ms: float = 0.0
    load_ms: float = 0.0
    crash_after: str | None = None  # the process exits if the prefix of a request ends with this

    @classmethod
    def read(cls, path: str) -> "Script":
        """Read a script; without a path, return the built-in one. Raises InputError for a file that is not a script."""
        if not path:
            return BUILT_IN
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
            rules = tuple((rule["before"], tuple(rule["candidates"])) for rule in raw.pop("rules"))
            return cls(rules, **raw)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} is not a script ({error}); it needs {{'rules': [{{'before', 'candidates'}}]}}"
            ) from error

    def candidates(self, prefix: str) -> tuple[str, ...]:
        """Return the texts that follow `prefix`."""
        return next((texts for before, texts in self.rules if prefix.endswith(before)), ())


class ScriptedProposer(Proposer):
    """Proposes what its script says, as far as there is time. Where it says nothing, retrieved texts are left out."""

    can = Capabilities("cpu")

    def __init__(self, script: Script) -> None:
        self.costs = Costs(first_share=1.0)  # there is no setup
        self._script = script
        time.sleep(script.load_ms / 1000)

    def propose(
        self,
        request: TextRequest,
        hole: Hole,  # noqa: ARG002
        drafts: tuple[Draft, ...],
        holes: Holes = ONE_HOLE,  # noqa: ARG002
    ) -> Job[Proposals]:
        """Return the script's candidates, unless there is no time for one pass, and the retrieved drafts."""
        self._read(request)
        began, script, passes = now(), self._script, 0
        texts = script.candidates(request.prefix)[: request.candidates]
        if not texts:
            return Proposals([])
        try:
            while passes < script.steps:
                yield Work(Phase.PASS, 1)
                time.sleep(script.step_ms / 1000)
                passes += 1
                yield PassState(self, TreeStep(passes, tuple(self._pieces(text, passes) for text in texts)))
        except OutOfTime:
            pass
        found = [self._proposed(text, passes, number) for number, text in enumerate(texts)] if passes else []
        retrieved = [unscored(draft) for draft in drafts if not passes or draft.text not in texts]
        return Proposals([*found, *retrieved] or None, 0.0, since(began), final=passes > 0)

    def prefetch(self, around: Surroundings) -> Job[None]:
        """See `Proposer`."""
        self._read(around)
        yield from ()

    def warm_up(self) -> Iterator[Rehearsal]:
        """See `Proposer`."""
        yield Rehearsal(InfillRequest("result = ", "\n"), WARM_UP_MS)

    def least_ms(self) -> float:
        """See `Proposer`."""
        return self.costs.best_ms(Phase.PASS, 1)

    def _read(self, around: Surroundings) -> None:
        """Exit if the script says so."""
        if self._script.crash_after and around.prefix.endswith(self._script.crash_after):
            os._exit(70)

    def _sure(self, data: bytes, passes: int) -> int:
        """Return how many bytes of a text are sure after some passes."""
        return min(len(data), passes * -(-len(data) // self._script.steps))

    def _logprobs(self, data: bytes, passes: int) -> Sequence[float]:
        sure = self._sure(data, passes)
        return (*[SURE_LOGPROB] * (sure + (sure == len(data))), *[UNSURE_LOGPROB] * (len(data) - sure))  # and its end

    def _pieces(self, text: str, passes: int) -> tuple[TextPiece, ...]:
        """Return a text byte by byte, and then its end."""
        data = text.encode()
        sure, logprobs = self._sure(data, passes), self._logprobs(data, passes)
        whole = sure == len(data)
        return tuple(
            TextPiece(data[: at + 1], sum(logprobs[: at + 1]), seen=whole or at < sure) for at in range(len(logprobs))
        )

    def _proposed(self, text: str, passes: int, number: int) -> ProposedText:
        logprobs = self._logprobs(text.encode(), passes)
        return ProposedText(
            text,
            mean_logprob=sum(logprobs) / len(logprobs),
            min_logprob=min(logprobs),
            length_logprob=EACH_LATER * number,
            stability=float(passes > 1),
            tokens=len(logprobs),
            passes=passes,
        )


BUILT_IN = Script(
    (
        ("return ", ("result", "self.value", "None")),
        (" = ", ("alpha(1)", "beta(2, 3)", "gamma")),
        ("(", ("first, second", "value")),
        ("", ("pass",)),
    )
)

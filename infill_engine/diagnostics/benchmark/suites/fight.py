"""Ways of decoding with the same weights on the same problems, in turn: A B A B. Each way begins equally often."""

from functools import partial

from infill_engine.diagnostics.benchmark.problems.loading import Problem
from infill_engine.diagnostics.benchmark.suites.plan import Bout
from infill_engine.diagnostics.benchmark.suites.running import Run, Unit, is_trunk, parted
from infill_engine.diagnostics.benchmark.systems.answered import System
from infill_engine.errors import ModelError

FIGHT = "fight"
AT_ONCE = 10  # problems in a unit
SECONDS_AN_ANSWER = 0.2
SECONDS_OF_A_PEER = 1.0  # for an answer; no deadline holds there


def fight_units(run: Run) -> list[Unit]:
    """Return the units of all bouts, for every model that can be decoded in more than one way: the trunk, here."""
    units: list[Unit] = []
    for model in filter(is_trunk, run.models):
        for bout in run.plan.bouts:
            setting = bout.setting
            key = f"fight {model} {setting.candidates} in {setting.budget_ms:.0f} ms"
            peers = len(run.peers) if bout.peers and model == run.main else 0
            seconds = bout.rounds * (SECONDS_AN_ANSWER * len(bout.ways) + SECONDS_OF_A_PEER * peers)
            problems = list(run.problems[:: bout.stride])
            units += parted(key, problems, AT_ONCE, seconds, partial(_bout, run, model, bout))
    return units


def _bout(run: Run, model: str, bout: Bout, problems: list[Problem]) -> None:
    own: list[System] = [run.system(model, way) for way in bout.ways]
    for number, problem in enumerate(problems):
        systems = [*own, *(run.peers if bout.peers and model == run.main else ())]
        first = number % len(systems)
        for turn in range(bout.rounds):
            for system in (*systems[first:], *systems[:first]):
                try:
                    run.ask(FIGHT, model, system, problem, bout.setting, turn)
                except ModelError as error:
                    if system in own:
                        raise
                    run.give_up(system.way, str(error))

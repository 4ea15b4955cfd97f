"""Programs of others on the same problems as the product, in turn. They have no deadline."""

from collections.abc import Sequence
from functools import partial

from bench.peers.finding import Peer
from infill_engine.diagnostics.benchmark.plan import FIGHT, USUAL_MS
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.diagnostics.benchmark.running import Run, Unit, parted
from infill_engine.diagnostics.benchmark.systems import SERVED, Setting
from infill_engine.errors import ModelError

SETTINGS = (Setting(4, USUAL_MS), Setting(1, USUAL_MS))
SECONDS = 2.0  # for a problem


def peer_units(run: Run, peers: Sequence[Peer]) -> list[Unit]:
    """Return the units of the fight. A peer that fails is reported and left out from then on."""
    (model, *_), taking_part = run.models, list(peers)
    return [
        unit
        for setting in SETTINGS
        for unit in parted(
            f"{setting.candidates} candidates", run.problems, SECONDS, partial(_ask, run, model, setting, taking_part)
        )
    ]


def _ask(run: Run, model: str, setting: Setting, peers: list[Peer], problems: Sequence[Problem]) -> None:
    product = run.system(model, SERVED)
    for problem in problems:
        run.ask(FIGHT, model, product, problem, setting)
        for peer in tuple(peers):
            try:
                run.ask(FIGHT, model, peer, problem, setting)
            except ModelError as error:
                peers.remove(peer)
                peer.close()
                run.results.missing(peer.way, str(error))

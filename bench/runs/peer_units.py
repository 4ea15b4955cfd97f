"""Programs of others on the same problems as the product, in turn. They have no deadline."""

from collections.abc import Sequence
from functools import partial

from bench.peers.finding import Peer
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.diagnostics.benchmark.running import USUAL, Run, Unit, parted
from infill_engine.diagnostics.benchmark.systems import Served, Setting
from infill_engine.errors import ModelError

SETTINGS = (USUAL, Setting(1, USUAL.budget_ms))
SECONDS = 2.0  # for a problem


def peer_units(run: Run, peers: Sequence[Peer]) -> list[Unit]:
    """Return units in which product and peers are asked. A peer that fails is reported and left out from then on."""
    taking_part = list(peers)
    return [
        unit
        for setting in SETTINGS
        for unit in parted(f"peers {setting}", run.problems, SECONDS, partial(_ask, run, setting, taking_part))
    ]


def _ask(run: Run, setting: Setting, peers: list[Peer], problems: Sequence[Problem]) -> None:
    (model, *_) = run.models
    product = Served(run.engine(model))
    for problem in problems:
        run.ask(model, product, problem, setting)
        for peer in tuple(peers):
            try:
                run.ask(model, peer, problem, setting)
            except ModelError as error:
                peers.remove(peer)
                peer.close()
                run.results.missing(peer.way, str(error))

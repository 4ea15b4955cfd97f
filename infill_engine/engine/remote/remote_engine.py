"""The engine of a model on a server."""

from infill_engine.engine.engine import Engine
from infill_engine.engine.remote.address import KEY_VARIABLE, read_address
from infill_engine.engine.remote.proposer import RemoteProposer
from infill_engine.engine.remote.server import Server
from infill_engine.ranking.calibration import BUILT_IN


def load_remote(name: str, key_variable: str = KEY_VARIABLE) -> Engine:
    """Return the engine with that name. Sends nothing yet: a server that is down may come up. Raises InputError."""
    return Engine(RemoteProposer(Server(read_address(name), key_variable)), name, BUILT_IN)

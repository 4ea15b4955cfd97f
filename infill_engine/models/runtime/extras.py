"""The packages that only some models and devices need: whether they are installed, and how to install them."""

import shlex
import sys
from importlib.util import find_spec
from subprocess import list2cmdline

from infill_engine.errors import ModelError

TORCH, MODELS = "torch", "models"  # extras of the package


def has_torch() -> bool:
    """Return whether torch is installed. Does not import it."""
    return find_spec("torch") is not None


def installing(extra: str) -> str:
    """Return the command, in backquotes, that installs an extra into the environment of this process."""
    join = list2cmdline if sys.platform == "win32" else shlex.join
    return f"`{join([sys.executable, '-m', 'pip', 'install', f'infill-ls[{extra}]'])}`"


def require_torch(model: str) -> None:
    """Raise ModelError unless torch is installed, for a model that nothing else computes."""
    if not has_torch():
        raise ModelError(f"{model} needs torch: run {installing(MODELS)}, or use the default model")

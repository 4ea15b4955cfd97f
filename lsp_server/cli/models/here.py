"""What this machine can hold, what is prepared for it, and `infill-ls models forget`, which deletes that."""

import argparse
import json
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import psutil
from rich.console import Console
from rich.text import Text

from infill_engine.errors import InputError, ModelError
from infill_engine.models.checkpoint.user_data import prepared_folder
from infill_engine.models.registry import TRUNK
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.prepared import PreparedModel, delete, kept_files
from infill_engine.models.trunk.published_sizes import ROWS, Expected, expected
from infill_engine.serving.starting import load_local
from lsp_server.cli.terminal import console_of, doing
from lsp_server.settings.file import read_file
from lsp_server.settings.schema import read_settings

NO_SIZES = TrunkConfig(1)


@dataclass(frozen=True, slots=True)
class Here:
    """The sizes of the default model's architecture, bytes of free memory, the time while typing, prepared models."""

    sizes: list[Expected]
    free: int
    budget_ms: int
    prepared: list[PreparedModel]

    def as_json(self) -> dict[str, object]:
        """Return the same as JSON's types."""
        sizes = [
            {
                "name": each.name,
                "memory": each.memory,
                "disk": each.disk,
                "fits": each.memory <= self.free,
                "passes": round(self.budget_ms / each.pass_ms, 1) if each.pass_ms else None,
            }
            for each in self.sizes
        ]
        prepared = [{"model": kept.model, "path": str(kept.path), "bytes": kept.size} for kept in self.prepared]
        return {"larger": sizes, "free": self.free, "budget_ms": self.budget_ms, "prepared": prepared}


def look() -> Here:
    """Load the default model, if it is here, and measure a pass; say what larger ones would cost."""
    own, pass_ms = NO_SIZES, 0.0
    with doing("measuring the default model"), suppress(ModelError):  # without it, only memory is known
        own, pass_ms = default_pass()
    free, budget_ms = psutil.virtual_memory().available, read_settings(read_file()[0])[0].budget_ms
    return Here(expected(own, pass_ms), int(free), budget_ms, kept_files(prepared_folder()))


def default_pass() -> tuple[TrunkConfig, float]:
    """Return the default model's sizes and the milliseconds of a pass over ROWS rows. Raises ModelError."""
    from infill_engine.sampling.trunk.tree_sampler import TreeSampler

    sampler = load_local(TRUNK).proposer
    assert isinstance(sampler, TreeSampler)
    return sampler.model.backend.config, sampler.best_pass_ms(ROWS)


def tell(here: Here, console: Console) -> None:
    """Print it for people."""
    line = partial(console.print, soft_wrap=True)
    line(Text("on this machine", "bold").append(f"  {here.free / 1e9:.1f} GB of memory are free", "default"))
    for each in here.sizes:
        fits = "fits" if each.memory <= here.free else "too large"
        passes = f"; {here.budget_ms / each.pass_ms:.1f} passes of {ROWS} tokens in {here.budget_ms} ms of typing"
        line(f"  {each.name}: {each.memory / 1e9:.1f} GB, {fits}{passes if each.pass_ms else ''}")
    line("  Estimated from the default model's pass and from bytes. Give a GGUF file or a folder as the model.")
    for kept in here.prepared:
        line(f"  prepared: {kept.model}, {kept.size / 1e9:.2f} GB of disk; `infill-ls models forget {kept.model}`")


def forget(options: argparse.Namespace) -> int:
    """Delete what was prepared of a model. Raises InputError if there is nothing, or it cannot be deleted."""
    files = kept_files(prepared_folder())
    chosen = [kept for kept in files if kept.model == options.name]
    if not chosen:
        names = ", ".join(sorted({kept.model for kept in files})) or "none"
        raise InputError(f"nothing is prepared for {options.name}; prepared models: {names}")
    for kept in chosen:
        try:
            delete(kept.path)
        except OSError as error:
            raise InputError(f"{kept.path} cannot be deleted ({error.strerror}); stop the engine first") from error
    freed = sum(kept.size for kept in chosen)
    if options.json:
        print(json.dumps({"forgotten": [str(kept.path) for kept in chosen], "bytes": freed}))
    else:
        console_of(sys.stdout).print(
            f"Deleted {freed / 1e9:.2f} GB in {prepared_folder()}. The model's own files stay; it is prepared again "
            "when it is loaded.",
            soft_wrap=True,
        )
    return 0

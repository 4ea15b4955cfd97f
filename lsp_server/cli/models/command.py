"""`infill-ls models`: lists model families, inspects a model, measures its cost.

list           the families, their published checkpoints, what this machine can hold, and what is prepared here
info NAME      a model's configuration, what the adapter checked, and memory needed at each precision versus free
bench NAME     the cost of one step and of reading a context on this machine
forget NAME    deletes what is prepared of a model (`here`)
get            builds the default model's weights from a published file (`get`)
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from infill_engine.engine.remote.address import is_remote
from infill_engine.errors import InputError
from infill_engine.models.published.catalogue import BYTES, CATALOGUE, Known, Published, known_for
from infill_engine.models.registry import TRUNK, resolved
from infill_engine.serving.starting import set_threads
from infill_engine.settings import ModelSettings
from lsp_server.cli.escapes import visible, visible_lines
from lsp_server.cli.models import get, here
from lsp_server.cli.terminal import console_of, say

if TYPE_CHECKING:
    from infill_engine.diagnostics.costs import Cost
    from infill_engine.models.checkpoint.inspect import Described

LONGEST_FIELD = 80  # longest value of config.json to print, in characters
BENCHMARK = "HumanEval-Infilling, single line, pass@1 in percent, as published; not measured here"


def run(options: argparse.Namespace) -> int:
    """Return the subcommand's exit status: 1 if a model does not fit.

    Raises InputError for a remote server: these commands work only on models that are local or can be downloaded.
    """
    if options.what in ("info", "bench") and is_remote(options.name):
        raise InputError(
            f"{options.name} is a server, and `models {options.what}` looks at models on this machine; "
            f"`infill-ls doctor --model {options.name}` asks the server"
        )
    doing = {"list": _list, "info": _info, "bench": _bench, "get": get.run, "forget": here.forget}
    return doing[options.what](options)


def _list(options: argparse.Namespace) -> int:
    found = here.look()
    if options.json:
        families = [_known_as_json(known) for known in CATALOGUE]
        print(json.dumps({"families": families, "score": BENCHMARK, **found.as_json()}))
        return 0
    console = console_of(sys.stdout)
    for known in CATALOGUE:
        console.print(Text(known.name, "bold").append(f"  {known.sight}", "default"), soft_wrap=True)
        console.print(f"  {known.reuse}", soft_wrap=True)
        for published in known.examples:
            console.print(f"  {published.name}: {_facts(published)}", soft_wrap=True)
    console.print(f"Memory is that of the weights, by arithmetic. Scores: {BENCHMARK}.", soft_wrap=True)
    here.tell(found, console)
    return 0


def _facts(published: Published) -> str:
    facts = [published.licence, f"{published.billions:g} B parameters"]
    if published.kept < published.billions:
        facts += [", ".join(f"{precision} {published.gigabytes(precision):.2g} GB" for precision in BYTES)]
    if published.score is not None:
        facts.append(f"scores {published.score:g} ({published.source})")
    return "; ".join([*facts, *([published.note] if published.note else [])])


def _known_as_json(known: Known) -> dict[str, object]:
    return {
        "name": known.name,
        "model_types": known.model_types,
        "sight": known.sight.value,
        "reuse": known.reuse,
        "examples": [
            asdict(published) | {"gigabytes": {each: round(published.gigabytes(each), 3) for each in BYTES}}
            for published in known.examples
        ],
    }


def _info(options: argparse.Namespace) -> int:
    from infill_engine.models.checkpoint.inspect import describe

    with say(f"looking at {options.name}"):
        found = describe(resolved(options.name, Path.cwd()), options.device)
    fits = any(needed <= found.free for needed in found.memory.values())
    if options.json:
        print(json.dumps(asdict(found) | {"fits": fits}))
    else:
        _tell_of(found, console_of(sys.stdout))
    return 0 if fits and not found.user_message else 1


def _tell_of(found: "Described", console: Console) -> None:
    console.print(Text(found.name, "bold").append(f"  {found.folder}", "default"), soft_wrap=True)
    for field, value in found.config.items():
        shown = json.dumps(value, ensure_ascii=False)
        shown = shown if len(shown) <= LONGEST_FIELD else shown[:LONGEST_FIELD] + "…"
        console.print(visible(f"  {field} = {shown}"))
    for line in found.checked:
        console.print(Text("ok    ", "green").append(line, "default"), soft_wrap=True)
    if found.user_message:
        console.print(Text("fail  ", "bold red").append(visible_lines(found.user_message), "default"), soft_wrap=True)
    for known in known_for(str(found.config["model_type"])):
        if known.name == found.family or (not found.family and not found.user_message):
            console.print(f"{known.name}: {known.sight}; {known.reuse}", soft_wrap=True)
    console.print(f"{found.parameters / 1e9:.3f} B parameters; {found.device} has {found.free / 1e9:.1f} GB free")
    for precision, needed in found.memory.items():
        fits = Text("fits  ", "green") if needed <= found.free else Text("large ", "yellow")
        console.print(fits.append(f"{precision}  about {needed / 1e9:.2f} GB in use", "default"))
    if found.remedy:
        console.print(f"→ {found.remedy}", soft_wrap=True)


def _bench(options: argparse.Namespace) -> int:
    with say(f"loading {options.name}"):
        set_threads()  # must run before torch is imported
        from infill_engine.diagnostics.costs import LONGEST, measure
        from infill_engine.models.model_loading import load_model
        from infill_engine.models.runtime.devices import used_memory
        from infill_engine.models.trunk.model import TrunkModel

        settings = ModelSettings(options.precision, *LONGEST, reuse_context=options.reuse_context)
        family = load_model(resolved(options.name, Path.cwd()), options.device, settings)
        troubles: list[str] = []
        compiled = False
        if not isinstance(family, TrunkModel):
            from infill_engine.models.runtime.cuda_graphs import compile_steps  # needs torch

            compiled = compile_steps(family, family.device, lambda _what, _share: None, troubles.append)
    with say("measuring"):
        costs = list(measure(family))
    memory = used_memory(family.device)
    report = {
        "model": options.name,
        "family": TRUNK if isinstance(family, TrunkModel) else family.info.name,
        "device": family.device,
        "precision": options.precision,
        "reuse_context": options.reuse_context,
        "memory_bytes": memory,
        "compiled": compiled,
        "troubles": troubles,
        "costs": [asdict(cost) for cost in costs],
    }
    if options.json:
        print(json.dumps(report))
    else:
        console = console_of(sys.stdout)
        _tell_costs(costs, console)
        told = f"{family.device}, {memory / 1e9:.2f} GB in use, steps {'compiled' if compiled else 'not compiled'}"
        console.print("\n".join((told, *troubles)), soft_wrap=True)
    return 0


def _tell_costs(costs: "list[Cost]", console: Console) -> None:
    for cost in costs:
        size = f"{cost.rows} rows" if cost.rows else f"{cost.tokens} tokens"
        slots = f" of {cost.slots} slots" if cost.slots else ""
        console.print(f"{cost.what}, {size}{slots}: {cost.ms:.1f} ms")

"""`infill-ls models`: lists model families, inspects a model, prepares or forgets one.

list           the families, their published checkpoints, what this machine can hold, and what is prepared here
info NAME      a model's configuration, what the adapter checked, and memory needed at each precision versus free
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
from infill_engine.models.published.catalogue import BYTES, CATALOGUE, Family, Published, known_for
from infill_engine.models.registry import resolved
from lsp_server.cli.models import get, here
from lsp_server.cli.terminal import console_of, doing, visible, visible_lines

if TYPE_CHECKING:
    from infill_engine.models.checkpoint.inspect import Described

LONGEST_FIELD = 80  # longest value of config.json to print, in characters
BENCHMARK = "HumanEval-Infilling, single line, pass@1 in percent, as published; not measured here"


def run(options: argparse.Namespace) -> int:
    """Return the subcommand's exit status: 1 if a model does not fit."""
    commands = {"list": _list, "info": _info, "get": get.run, "forget": here.forget}
    return commands[options.what](options)


def _list(options: argparse.Namespace) -> int:
    found = here.look()
    if options.json:
        families = [_known_as_json(known) for known in CATALOGUE]
        print(json.dumps({"families": families, "score": BENCHMARK, **found.as_json()}))
        return 0
    console = console_of(sys.stdout)
    for known in CATALOGUE:
        console.print(Text(known.name, "bold").append(f"  {known.sight}", "default"), soft_wrap=True)
        for published in known.examples:
            console.print(f"  {published.name}: {_facts(published)}", soft_wrap=True)
    console.print(f"Memory is calculated from the size of the weights. Scores: {BENCHMARK}.", soft_wrap=True)
    here.tell(found, console)
    return 0


def _facts(published: Published) -> str:
    facts = [published.licence, f"{published.billions:g} B parameters"]
    if published.kept < published.billions:
        facts += [", ".join(f"{precision} {published.gigabytes(precision):.2g} GB" for precision in BYTES)]
    if published.score is not None:
        facts.append(f"scores {published.score:g} ({published.source})")
    return "; ".join([*facts, *([published.note] if published.note else [])])


def _known_as_json(known: Family) -> dict[str, object]:
    return {
        "name": known.name,
        "model_types": known.model_types,
        "sight": known.sight.value,
        "examples": [
            asdict(published) | {"gigabytes": {each: round(published.gigabytes(each), 3) for each in BYTES}}
            for published in known.examples
        ],
    }


def _info(options: argparse.Namespace) -> int:
    """Raise InputError for a remote server: only a model that is local or can be downloaded can be inspected."""
    if is_remote(options.name):
        raise InputError(
            f"{options.name} is a server, and `models info` looks at models on this machine; "
            f"`infill-ls doctor --model {options.name}` asks the server"
        )
    from infill_engine.models.checkpoint.inspect import describe

    with doing(f"looking at {options.name}"):
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
            console.print(f"{known.name}: {known.sight}", soft_wrap=True)
    console.print(f"{found.parameters / 1e9:.3f} B parameters; {found.device} has {found.free / 1e9:.1f} GB free")
    for precision, needed in found.memory.items():
        fits = Text("fits  ", "green") if needed <= found.free else Text("large ", "yellow")
        console.print(fits.append(f"{precision}  about {needed / 1e9:.2f} GB in use", "default"))
    if found.remedy:
        console.print(f"→ {found.remedy}", soft_wrap=True)

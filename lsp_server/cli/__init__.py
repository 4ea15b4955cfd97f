"""The arguments of every subcommand. Each subcommand has a module of its own.

serve_http  serving over HTTP; serving an editor needs no module here
complete    candidates for one place in a file
why         what would appear there unasked, and why other texts were dropped
bench       measures this machine; recommends a model, a budget and a number of candidates
doctor      what works on this machine, and how to fix what does not
demo        a completion, computed step by step
engine      the engine that all editor windows share: its state; restart and stop
models      lists model families; inspects, gets and forgets models
stats       what was shown and accepted, how fast, and why nothing was shown

A command's module is imported only when the command runs. Exit status: 0 for an answer (including "no candidates" with
a reason), 1 if something is wrong with this machine, 2 if something is wrong with the request.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from infill_engine.errors import InfillError
from infill_engine.types import Eagerness
from lsp_server.cli.terminal import visible_lines
from lsp_server.settings.schema import LEAST_BUDGET_MS, MOST_BUDGET_MS, MOST_CANDIDATES, Precision, ServerSettings

AddParser = Callable[..., argparse.ArgumentParser]  # `add_parser` of what argparse returns for subcommands

DEFAULTS = ServerSettings()
BENCH_PARTS = ("typing", "quality")
_PACKAGES = ("bench", "demo", "models")
INTERRUPTED = 130  # the status a shell reports for a program ended by Ctrl-C


def add_commands(add_parser: AddParser) -> None:
    """Declare the subcommands and their arguments."""
    complete = _add_command(add_parser, "complete", "print candidates for one place in a file")
    _add_place(complete)
    complete.add_argument(
        "--candidates",
        type=_whole(1, MOST_CANDIDATES),
        default=DEFAULTS.candidates,
        metavar="N",
        help="maximum number of candidates (%(default)s)",
    )
    _add_engine(complete)

    why = _add_command(
        add_parser, "why", "explain what would appear at a place unasked, and why other texts were dropped"
    )
    _add_place(why)
    why.add_argument(
        "--eagerness",
        choices=[each.value for each in Eagerness],
        default=DEFAULTS.eagerness.value,
        help="how readily candidates appear (%(default)s)",
    )
    _add_engine(why)

    doctor = _add_command(add_parser, "doctor", "check what works on this machine, and say how to fix what does not")
    doctor.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="also report the language detected for this file"
    )
    _add_engine(doctor, from_file=True)

    demo = _add_command(add_parser, "demo", "show a completion being computed, step by step", prints_json=False)
    demo.add_argument(
        "place", metavar="FILE:LINE:COL", nargs="?", help="a place of your own instead of the bundled one"
    )
    _add_engine(demo)

    stats = _add_command(add_parser, "stats", "show what was shown and accepted, how fast, and why nothing was shown")
    stats.add_argument("--reset", action="store_true", help="delete the statistics")

    _add_bench(
        _add_command(
            add_parser, "bench", "measure this machine; recommend a model, a budget and a number of candidates"
        )
    )

    engine = _add_command(add_parser, "engine", "show, restart or stop the engine of all editor windows")
    engine.add_argument("what", choices=("status", "restart", "stop"), help="the action to perform")

    models = _add_command(add_parser, "models", "list, inspect, get and forget models", prints_json=False)
    _add_models(models.add_subparsers(title="commands", metavar="COMMAND", dest="what", required=True).add_parser)


def add_http(serving: argparse.ArgumentParser) -> None:
    """Declare the options of serving over HTTP."""
    add = serving.add_argument_group("over HTTP").add_argument
    add("--http", action="store_true", help="serve plugins for llama.cpp, OpenAI, Tabby and Ollama over HTTP")
    add("--ray", action="store_true", help="the same with several replicas of the engine, on Ray Serve")
    add(
        "--replicas",
        type=_whole(1, 256),
        default=2,
        metavar="N",
        help="number of engine replicas with --ray (%(default)s)",
    )
    add(
        "--cluster",
        default="",
        metavar="ADDRESS",
        help="with --ray: use the replicas deployed there; auto or HOST:PORT",
    )
    add("--host", default="127.0.0.1", metavar="ADDRESS", help="the address to listen at (%(default)s)")
    add("--port", type=_whole(0, 65_535), default=8012, help="the port; 0 for any (%(default)s)")
    add("--api-key-file", type=Path, metavar="FILE", help="file of accepted keys, one per line")
    add("--tls-certificate", type=Path, metavar="FILE", help="encrypt, with this certificate (PEM)")
    add("--tls-key", type=Path, metavar="FILE", help="the certificate's private key (PEM)")
    add("--plain-http", action="store_true", help="allow other machines to connect without encryption")


def run_command(name: str, options: argparse.Namespace) -> int:
    """Run a command. If it ends early, print one line on stderr and return an exit status."""
    if sys.stdout is None:  # the parent process closed it
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (for as long as we run)
    try:
        status = int(importlib.import_module(f"{__name__}.{name}").run(options))
        sys.stdout.flush()
    except InfillError as error:
        print(f"infill-ls: {visible_lines(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if error.filename is not None:
            raise
        if not _is_somewhere():
            print("infill-ls: the current folder no longer exists; change to another one", file=sys.stderr)
            return 2
        # This is our own output: its reader is gone or its disk is full. Leave nothing for Python to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"infill-ls: the output cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return status


def _add_command(add_parser: AddParser, name: str, what: str, *, prints_json: bool = True) -> argparse.ArgumentParser:
    """Declare a subcommand that the module of the same name runs, or `command` in the package of that name."""
    parser = add_parser(name, help=what)
    parser.set_defaults(run=partial(run_command, f"{name}.command" if name in _PACKAGES else name))
    if prints_json:
        parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("place", metavar="FILE:LINE:COL", help="line and column count from 1, columns in characters")


def _add_bench(bench: argparse.ArgumentParser) -> None:
    add = bench.add_argument
    add(
        "--suite",
        choices=("quick", "full"),
        default="quick",
        help="at most 3 minutes on two cores, or all problems without a limit",
    )
    add("--out", metavar="DIR", help="a new folder for the results")
    add("--apply", action="store_true", help="write what is recommended to the settings file")
    add(
        "--model",
        type=_name,
        nargs="+",
        metavar="NAME",
        help="models to measure instead of the default one, the main one first",
    )
    add("--only", nargs="+", choices=BENCH_PARTS, metavar="PART", help=f"run only some of: {', '.join(BENCH_PARTS)}")
    add("--problems", nargs="+", metavar="FILE", help="problems of your own instead of the bundled ones")
    _add_device(bench)
    _add_precision(bench)


def _add_models(add_parser: AddParser) -> None:
    def add(name: str, what: str) -> argparse.ArgumentParser:
        parser = add_parser(name, help=what)
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        return parser

    add("list", "list model families, their published models, and memory needs")
    info = add("info", "show a model's configuration, and whether it fits this machine")
    info.add_argument("name", metavar="NAME", help='"default", a GGUF file, a folder, or OWNER/NAME')
    _add_device(info)
    forget = add("forget", "delete a model's files prepared for this machine")
    forget.add_argument("name", metavar="NAME", help="a name that `models list` shows as prepared")
    get = add("get", "build the default model's weights here, from a published file")
    get.add_argument("name", metavar="NAME", nargs="?", default="default", help="which model (%(default)s)")
    source = get.add_mutually_exclusive_group()
    source.add_argument("--from", dest="file", metavar="FILE", help="the published file, if it is here already")
    source.add_argument("--download", action="store_true", help="fetch the published file, about 490 MB")


def _add_engine(parser: argparse.ArgumentParser, *, from_file: bool = False) -> None:
    """With `from_file`, options that are not given are None: the settings file decides."""
    typing = f"for an answer while you type (the setting budgetMs, or {DEFAULTS.budget_ms})"
    parser.add_argument(
        "--budget-ms",
        type=_whole(LEAST_BUDGET_MS, MOST_BUDGET_MS),
        default=None if from_file else DEFAULTS.explicit_budget_ms,
        metavar="MS",
        help=f"milliseconds {typing if from_file else 'for the answer (%(default)s, as for an explicit request)'}",
    )
    parser.add_argument(
        "--model",
        type=_name,
        default=None if from_file else DEFAULTS.engine.model,
        help='a name such as "default", a GGUF file, a model\'s folder, OWNER/NAME, or a server',
    )
    parser.add_argument(
        "--api-key-variable",
        default=None if from_file else DEFAULTS.engine.key_variable,
        metavar="NAME",
        help=f"the environment variable with the key for a server ({DEFAULTS.engine.key_variable})",
    )
    _add_device(parser, None if from_file else DEFAULTS.engine.device)
    _add_precision(parser, None if from_file else DEFAULTS.engine.precision)


def _add_device(parser: argparse.ArgumentParser, default: str | None = DEFAULTS.engine.device) -> None:
    parser.add_argument("--device", default=default, help='"auto", "cpu", "cuda", "mps" or "mlx"')


def _add_precision(parser: argparse.ArgumentParser, default: str | None = DEFAULTS.engine.precision) -> None:
    parser.add_argument(
        "--precision",
        choices=[each.value for each in Precision],
        default=default,
        help="number format of the computation; int4 only for published models",
    )


def _is_somewhere() -> bool:
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def _name(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty; leave the option out for the default")
    return text


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text[:9]) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}")
        return int(text[:9])

    return read

"""`infill-ls doctor`: checks what works on this machine. Every finding that is not ok says how to fix it."""

import argparse
import asyncio
import json
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from infill_engine.budget.deadline import now
from infill_engine.engine.remote.address import SUFFIX_FIELD, Api, disclosure, is_remote, read_address
from infill_engine.engine.remote.server import Server
from infill_engine.errors import InputError
from infill_engine.models.checkpoint.user_data import settings_file
from infill_engine.models.registry import DEFAULT, RETRIEVAL, TRUNK, resolved
from infill_engine.models.runtime.devices import has_nvidia_card
from infill_engine.models.runtime.extras import TORCH, has_torch, installing
from infill_engine.serving.protocol import State, Status
from infill_engine.settings import AUTO
from infill_engine.text.languages import Support, all_entries, grammar_trouble, language, recognise
from infill_engine.types import Answer, Reason
from lsp_server.cli.place import UNKNOWN_LANGUAGE, open_text
from lsp_server.cli.terminal import console_of, doing
from lsp_server.engine_client.client import EngineClient
from lsp_server.engine_client.model_choice import as_shown
from lsp_server.settings.file import measured_reason, read_file
from lsp_server.settings.schema import EngineChoice, Precision, ServerSettings, read_settings
from lsp_server.suggestions.request_content import build_request
from lsp_server.suggestions.workspace import LARGEST_SIZE

if TYPE_CHECKING:
    from lsp_server.cli.speed import Speed

MOST_LISTED = 8
LOAD_SECONDS = 180.0  # allows for a large model on a slow disk
LOOK_SECONDS = 0.1
READ_SECONDS = 1.5  # to read the document before the request, as while a user looks at it
REINSTALL = "Install infill-ls again: `pip install --force-reinstall .` in its folder, or from the wheel it came in"
TEXT = """\
def area(width, height):
    return width * height


def volume(width, height, depth):
    return area(width, ) * depth
"""
NOT_STARTED = Status(State.LOADING)
PLACE = 5, len("    return area(width, ")
_SUPPORT = {
    Support.FIRST: "full support",
    Support.SECOND: "holes by line and value",
    Support.TEXT: "completed as plain text",
}


class CheckStatus(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARN = "warn"  # works, but not as well as it could
    FAIL = "fail"  # no completion works until this is fixed


@dataclass(frozen=True, slots=True)
class Check:
    """One check and its result. `remedy` says what to do; it is "" if the check passed."""

    name: str
    status: CheckStatus
    detail: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """An engine that was started as the server does. `trouble` describes a failure; `answer` is None without a request.

    `status` is the engine's once it is ready.
    """

    trouble: str = ""
    ready_seconds: float = 0.0
    status: Status = NOT_STARTED
    answer: Answer | None = None
    elapsed_ms: float = 0.0


def run(options: argparse.Namespace) -> int:
    """Print each check as it finishes. Return 1 if one failed."""
    console = None if options.json else console_of(sys.stdout)
    settings = read_settings(read_file()[0])[0]
    budget_ms = options.budget_ms or settings.budget_ms
    choice = EngineChoice(
        resolved(options.model or settings.engine.model, Path.cwd()),
        options.device or settings.engine.device,
        Precision(options.precision or settings.engine.precision),
        options.api_key_variable or settings.engine.key_variable,
    )
    checks = []
    explicit_ms = max(budget_ms, settings.explicit_budget_ms)
    for check in _checks(choice, (budget_ms, explicit_ms), options.file):
        checks.append(check)
        if console is not None:
            _print(console, check)
    ok = all(check.status is not CheckStatus.FAIL for check in checks)
    if console is None:
        print(json.dumps({"checks": [asdict(check) for check in checks], "ok": ok}))
    else:
        well = all(check.status is CheckStatus.OK for check in checks)
        console.print(
            "All checks passed." if well else f"{'It works, with warnings' if ok else 'Some checks failed'}; see above."
        )
    return 0 if ok else 1


def _checks(choice: EngineChoice, budgets_ms: tuple[int, int], file: Path | None) -> Iterator[Check]:
    """Yield each check. The budgets are that of a keystroke and that of an explicit request."""
    if settings_file().exists():
        yield check_settings()
    if file is not None:
        yield check_file(file)
    yield Check("python", CheckStatus.OK, f"{platform.python_version()} at {sys.executable}")
    yield check_grammars()
    if is_remote(choice.model):
        server = check_server(choice)
        yield server
        if server.status is CheckStatus.FAIL:
            return
    else:
        yield from check_card(choice)
    with doing("starting the engine"):
        trial = asyncio.run(_try_engine(choice, budgets_ms[0]))
    yield check_engine(trial)
    if trial.answer is not None:
        yield check_completion(trial.answer, trial.elapsed_ms, budgets_ms[0])
    if trial.status.model in (DEFAULT, TRUNK):
        from lsp_server.cli.speed import measure_speed

        with doing("measuring the model"):
            speed = measure_speed(choice, budgets_ms)
        yield check_speed(speed)


def check_server(choice: EngineChoice) -> Check:
    """Report where text is sent, and check that the server answers and has the model. Raises InputError."""
    address = read_address(choice.model)
    told = disclosure(address).removeprefix("infill-ls: ")
    try:
        models = Server(address, choice.key_variable).models()
    except InputError as error:
        return Check("server", CheckStatus.FAIL, told, str(error))
    if address.model and address.model not in models:
        listed = ", ".join(models[:MOST_LISTED]) or "none"
        remedy = f"The server does not list the model {address.model}. Available models: {listed}."
        return Check("server", CheckStatus.WARN, told, remedy)
    if address.api is Api.OPENAI and address.fim is None and not choice.model.endswith(f"?fim={SUFFIX_FIELD}"):
        remedy = (
            "The model's name does not tell its family, so a suffix is sent. If the server rejects it, or the "
            f"candidates ignore the text after the cursor, add the family to the name: #{address.model}?fim=FAMILY"
        )
        return Check("server", CheckStatus.WARN, told, remedy)
    return Check("server", CheckStatus.OK, told)


def check_card(choice: EngineChoice) -> Iterator[Check]:
    """Warn if an NVIDIA card is not used because torch is not installed."""
    if choice.device == AUTO and has_nvidia_card() and not has_torch():
        detail = "this machine has an NVIDIA card, but PyTorch, which is needed to use it, is not installed"
        yield Check("gpu", CheckStatus.WARN, detail, f"Run {installing(TORCH)}, or set the device to `cpu`.")


def check_settings() -> Check:
    """Report what the settings file says and why."""
    content, unusable = read_file()
    settings, warnings = read_settings(content)
    budgets = f"{settings.budget_ms} ms while typing, {settings.budget_for(explicit=True)} ms for explicit requests"
    told = f"model {settings.engine.model}, {budgets}, {settings.candidates} candidates"
    detail = " ".join(filter(None, (f"{settings_file()}: {told}.", measured_reason())))
    problems = [unusable] if unusable else list(warnings)
    if problems:
        return Check("settings", CheckStatus.WARN, detail, problems[0].removeprefix("infill-ls: "))
    return Check("settings", CheckStatus.OK, detail)


def check_grammars() -> Check:
    """Report each language's support and whether its grammar loads. Without one, holes are found by text alone."""
    names = {
        support: ", ".join(entry.name for entry in all_entries() if entry.support is support) for support in Support
    }
    detail = (
        f"full: {names[Support.FIRST]} · by line and value: {names[Support.SECOND]} · "
        f"as plain text: {names[Support.TEXT]} and anything else"
    )
    troubles = [trouble for entry in all_entries() if (trouble := grammar_trouble(entry))]
    if troubles:
        remedy = f"Files in these languages are completed as plain text. {REINSTALL}"
        return Check("grammars", CheckStatus.WARN, "; ".join(troubles), remedy)
    return Check("grammars", CheckStatus.OK, detail)


def check_file(path: Path) -> Check:
    """Report which language a file is treated as, why, and what that language has. Its text is not shown."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST_SIZE)
    except OSError as error:
        return Check("file", CheckStatus.WARN, f"{path} cannot be read: {error.strerror}", "Give the path of a file.")
    found = recognise(UNKNOWN_LANGUAGE, path.name, text)
    entry = language(found.language)
    detail = f"{path.name}: {entry.name}, because {found.evidence}; {_SUPPORT[entry.support]}"
    if trouble := grammar_trouble(entry):
        return Check("file", CheckStatus.WARN, f"{detail}; {trouble}", f"It is completed as plain text. {REINSTALL}")
    return Check("file", CheckStatus.OK, detail)


def check_engine(trial: Trial) -> Check:
    """Check that the engine started and loaded its model."""
    if trial.trouble:
        remedy = "`infill-ls complete` on a file, with the same --model and --device, shows the fault in this terminal."
        return Check("engine", CheckStatus.FAIL, trial.trouble, remedy)
    status = trial.status
    detail = f"{status.model} on {status.device}, ready {trial.ready_seconds:.1f} s after it was started"
    if status.detail:
        detail += f"; {status.detail}"
    if status.model == RETRIEVAL:
        detail = f"only retrieved texts, because no model is loaded; {detail}"
        return Check("engine", CheckStatus.WARN, detail, "Run `infill-ls models get` to build the default model.")
    return Check("engine", CheckStatus.OK, detail)


def check_completion(answer: Answer, elapsed_ms: float, budget_ms: int) -> Check:
    """Check that a completion arrived in time, measured from request to answer with a warm model."""
    timing = f"{elapsed_ms:.0f} ms of the {budget_ms} ms while typing"
    if any(candidate.passes for candidate in answer.candidates):
        return Check("completion", CheckStatus.OK, f"candidates: {len(answer.candidates)}, in {timing}")
    reason = "copied ones only" if answer.candidates else answer.reason or Reason.BLANK
    remedy = (
        "If this machine is slow or busy, raise the setting budgetMs, the time while typing. "
        "Try a file of your own: infill-ls complete FILE:LINE:COL"
    )
    return Check("completion", CheckStatus.WARN, f"no candidates from the model ({reason}) in {timing}", remedy)


def check_speed(speed: "Speed") -> Check:
    """Report how fast the default model computes, and warn if a keystroke has no time for it."""
    if speed.passes[0] >= 1:
        return Check("speed", CheckStatus.OK, speed.sentence)
    return Check(
        "speed", CheckStatus.WARN, speed.sentence, "Raise the setting budgetMs, or end other work on this machine."
    )


async def _try_engine(choice: EngineChoice, budget_ms: int) -> Trial:
    """Start a private engine, wait for its model, request one hole, and stop it."""
    troubles: list[str] = []
    client = EngineClient(lambda _status: None, troubles.append)
    began = now()
    await client.start(choice)
    try:
        while client.status.state is not State.READY:
            if troubles or now() - began > LOAD_SECONDS:
                return Trial(troubles[0] if troubles else f"no model after {LOAD_SECONDS:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)
        ready_seconds = now() - began
        snapshot = open_text("file:///volume.py", "python", TEXT)
        request = build_request(snapshot, PLACE, ServerSettings(budget_ms=budget_ms))
        client.prefetch(snapshot.uri, request)
        await asyncio.sleep(READ_SECONDS)
        asked = now()
        answer = await client.ask(snapshot.uri, request, asked + budget_ms / 1000)
        status = as_shown(client.status, choice, budget_ms)
        return Trial("".join(troubles[:1]), ready_seconds, status, answer, 1000 * (now() - asked))
    finally:
        await client.stop()


def _print(console: Console, check: Check) -> None:
    style = {CheckStatus.OK: "green", CheckStatus.WARN: "yellow", CheckStatus.FAIL: "bold red"}[check.status]
    line = Text(f"{check.status.value:<5}", style).append(f"{check.name:<11}", "bold").append(check.detail, "default")
    console.print(line, soft_wrap=True)
    if check.remedy:
        console.print(Text(f"     → {check.remedy}"), soft_wrap=True)

"""`infill-ls doctor`: checks what works on this machine. Every finding that is not ok says how to fix it."""

import argparse
import json
import platform
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.text import Text

from infill_engine.engine.remote.address import SUFFIX_FIELD, Api, disclosure, is_remote, read_address
from infill_engine.engine.remote.server import Server
from infill_engine.errors import InfillError, InputError, ModelDamagedError, ModelError
from infill_engine.models.checkpoint.folder import INDEX, TOKENIZER, WEIGHTS, tokenizer_files, verify
from infill_engine.models.checkpoint.hub import is_hub_name
from infill_engine.models.checkpoint.user_data import settings_file
from infill_engine.models.registry import DEFAULT, RETRIEVAL, TRUNK, resolved
from infill_engine.models.runtime.devices import physical_cores
from infill_engine.text.languages import Support, all_entries, grammar_trouble, language, recognise
from infill_engine.types import Reason
from lsp_server.cli.doctor.worker_trial import Trial, try_worker
from lsp_server.cli.place import UNKNOWN_LANGUAGE
from lsp_server.cli.terminal import console_of, say
from lsp_server.settings.file import measured_reason, read_file
from lsp_server.settings.schema import EngineChoice, Precision, read_settings
from lsp_server.suggestions.refusal import LARGEST_SIZE

OLDEST_PYTHON = (3, 11)
MOST_LISTED = 8
OTHER_MODEL = f"Give --model a GGUF file, or a folder with config.json, {WEIGHTS}, {TOKENIZER}."
REINSTALL = "Install infill-ls again: `pip install --force-reinstall .` in its folder, or from the wheel it came in"
_SUPPORT = {
    Support.FIRST: "full support",
    Support.SECOND: "holes by line and value",
    Support.TEXT: "completed as plain text",
}


class Verdict(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARN = "warn"  # works, but not as well as it could
    FAIL = "fail"  # no completion works until this is fixed


@dataclass(frozen=True, slots=True)
class Check:
    """One check and its result. `remedy` says what to do; it is "" if the check passed."""

    name: str
    status: Verdict
    detail: str
    remedy: str = ""


def run(options: argparse.Namespace) -> int:
    """Print each check as it finishes. Return 1 if one failed."""
    console = None if options.json else console_of(sys.stdout)
    first = [check for check in (check_settings(), check_file(options.file) if options.file else None) if check]
    settings = read_settings(read_file()[0])[0]
    model = resolved(options.model or settings.engine.model, Path.cwd())
    precision, reuse = Precision(options.precision), options.reuse_context
    key_variable, budget_ms = options.api_key_variable, options.budget_ms or settings.budget_ms
    choice = EngineChoice(model, options.device, precision, key_variable, reuse, budget_ms)
    checks = []
    for check in chain(first, _checks(choice, budget_ms)):
        checks.append(check)
        if console is not None:
            _print(console, check)
    ok = all(check.status is not Verdict.FAIL for check in checks)
    if console is None:
        print(json.dumps({"checks": [asdict(check) for check in checks], "ok": ok}))
    else:
        well = all(check.status is Verdict.OK for check in checks)
        console.print(
            "All is well." if well else f"{'It works, with warnings' if ok else 'Some checks failed'}; see above."
        )
    return 0 if ok else 1


def _checks(choice: EngineChoice, budget_ms: int) -> Iterator[Check]:
    yield check_python(sys.version_info[:2])
    if is_remote(choice.model):
        yield check_grammars()
        server = _or_failure("server", lambda: check_server(choice))
        yield server
        if server.status is Verdict.FAIL:
            return
    else:
        choice, usable = yield from _checks_here(choice)
        if not usable:
            return
    with say("starting the worker"):
        trial = try_worker(choice, budget_ms)
    yield check_worker(trial)
    if trial.answer is not None:
        yield check_completion(trial, budget_ms)


def _checks_here(choice: EngineChoice) -> Generator[Check, None, tuple[EngineChoice, bool]]:
    """Check what a local model needs. Return the engine to start and whether it can start."""
    torch = check_torch()
    yield torch
    yield check_grammars()
    if torch.status is Verdict.FAIL:
        return choice, False
    yield _or_failure("device", lambda: check_device(choice.device, choice.model))
    files = _or_failure("model", lambda: check_model(choice.model))
    yield files
    return choice, files.status is not Verdict.FAIL


def check_server(choice: EngineChoice) -> Check:
    """Report where text is sent, and check that the server answers and has the model. Raises InputError."""
    address = read_address(choice.model)
    told = disclosure(address).removeprefix("infill-ls: ")
    try:
        models = Server(address, choice.key_variable).models()
    except InputError as error:
        return Check("server", Verdict.FAIL, told, str(error))
    if address.model and address.model not in models:
        listed = ", ".join(models[:MOST_LISTED]) or "none"
        return Check("server", Verdict.WARN, told, f"It lists no model {address.model}; those it lists: {listed}.")
    if address.api is Api.OPENAI and address.fim is None and not choice.model.endswith(f"?fim={SUFFIX_FIELD}"):
        remedy = (
            "The model's name does not tell its family, so a suffix is sent. If the server rejects it, or the "
            f"candidates ignore the text after the cursor, add the family to the name: #{address.model}?fim=FAMILY"
        )
        return Check("server", Verdict.WARN, told, remedy)
    return Check("server", Verdict.OK, told)


def check_settings() -> Check | None:
    """Report what the settings file says and why; None without one."""
    if not settings_file().exists():
        return None
    content, unusable = read_file()
    settings, warnings = read_settings(content)
    told = f"model {settings.engine.model}, {settings.budget_ms} ms, {settings.candidates} candidates"
    detail = " ".join(filter(None, (f"{settings_file()}: {told}.", measured_reason())))
    problems = [unusable] if unusable else list(warnings)
    if problems:
        return Check("settings", Verdict.WARN, detail, problems[0].removeprefix("infill-ls: "))
    return Check("settings", Verdict.OK, detail)


def check_python(version: tuple[int, int]) -> Check:
    """Check that this Python is new enough."""
    detail = f"{platform.python_version()} at {sys.executable}"
    if version < OLDEST_PYTHON:
        return Check("python", Verdict.FAIL, detail, "Install Python 3.11 or newer, and infill-ls with it.")
    return Check("python", Verdict.OK, detail)


def check_torch() -> Check:
    """Check that torch is installed and loads."""
    try:
        import infill_engine.models.canvas_loading  # noqa: F401 - the part needing torch; the server itself never imports it
    except (ImportError, OSError) as error:
        return Check("torch", Verdict.FAIL, f"cannot be loaded: {error}", REINSTALL)
    return Check("torch", Verdict.OK, metadata.version("torch"))


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
        return Check("grammars", Verdict.WARN, "; ".join(troubles), remedy)
    return Check("grammars", Verdict.OK, detail)


def check_file(path: Path) -> Check:
    """Report which language a file is treated as, why, and what that language has. Its text is not shown."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST_SIZE)
    except OSError as error:
        return Check("file", Verdict.WARN, f"{path} cannot be read: {error.strerror}", "Give the path of a file.")
    found = recognise(UNKNOWN_LANGUAGE, path.name, text)
    entry = language(found.language)
    detail = f"{path.name}: {entry.name}, because {found.evidence}; {_SUPPORT[entry.support]}"
    if trouble := grammar_trouble(entry):
        return Check("file", Verdict.WARN, f"{detail}; {trouble}", f"It is completed as plain text. {REINSTALL}")
    return Check("file", Verdict.OK, detail)


def check_device(wanted: str, model: str = DEFAULT) -> Check:
    """Report which device is used. Raises InputError for a device that does not exist."""
    from infill_engine.models.runtime.devices import choose_device, device_for

    device = device_for(TRUNK, wanted) if model in (DEFAULT, TRUNK) else choose_device(wanted)
    cores = physical_cores()
    detail = f"{device}, {cores} {'core' if cores == 1 else 'cores'}" if device == "cpu" else device
    return Check("device", Verdict.OK, detail)


def check_model(model: str) -> Check:
    """Check that the model's files exist and are readable."""
    from infill_engine.models.checkpoint.files import weight_files
    from infill_engine.models.registry import folder_of, trained_folder
    from infill_engine.models.trunk.sources import GGUF, source_of

    try:
        folder = folder_of(model)
    except ModelError as error:
        if model != DEFAULT:
            raise
        return Check("model", Verdict.WARN, str(error), "Until then only retrieved texts are suggested.")
    if folder is None:
        return Check("model", Verdict.OK, f"{model}: has no files")
    if is_hub_name(model) and not folder.is_dir():
        return Check(
            "model", Verdict.WARN, f"{model}: is not on this machine yet", "It is fetched when it is first used."
        )
    if folder.suffix.lower() == GGUF:
        try:
            source = source_of(folder, trained_folder(folder))
            assert source is not None
            source.vocabulary()
        except ModelError as error:
            return Check("model", Verdict.FAIL, str(error), "Fetch the file again, or name another model.")
        billions, size = source.config.parameters / 1e9, folder.stat().st_size
        return Check("model", Verdict.OK, f"{model}: {billions:.1f} B parameters, {size / 1e6:.1f} MB")
    try:
        several = not (folder / WEIGHTS).is_file() and (folder / INDEX).is_file()
        weights = [path.name for path in weight_files(folder)] if several else [WEIGHTS]
        files = ["config.json", *weights, *tokenizer_files(folder)]
        sizes = {name: _readable_size(folder / name) for name in files}
    except ModelDamagedError as error:
        return Check("model", Verdict.FAIL, f"{model}: {error}", OTHER_MODEL)
    except OSError as error:
        remedy = REINSTALL if model == "default" else OTHER_MODEL
        return Check("model", Verdict.FAIL, f"{model}: {error.filename}: {error.strerror}", remedy)
    try:
        verify(folder)
    except ModelDamagedError as error:
        return Check("model", Verdict.FAIL, f"{model}: {error}", REINSTALL if model == "default" else OTHER_MODEL)
    return Check("model", Verdict.OK, f"{model}: {folder}, {sum(sizes.values()) / 1e6:.1f} MB")


def check_worker(trial: Trial) -> Check:
    """Check that the worker process started, loaded its model and answered over the pipe."""
    if trial.user_message:
        remedy = "Run `infill-ls complete` on a file with the same --model: it shows the fault in this terminal."
        return Check("worker", Verdict.FAIL, trial.user_message, remedy)
    detail = f"answers, {trial.ready_seconds:.1f} s after it was started"
    if trial.model == RETRIEVAL:
        detail += ", with retrieved texts only, because no model is loaded"
        return Check("worker", Verdict.WARN, detail, "Run `infill-ls models get` to build the default model.")
    return Check("worker", Verdict.OK, detail)


def check_completion(trial: Trial, budget_ms: int) -> Check:
    """Check that a completion arrived in time, measured from request to answer with a warm model."""
    answer = trial.answer
    assert answer is not None
    timing = f"{trial.elapsed_ms:.0f} ms of {budget_ms} ms"
    if any(candidate.steps for candidate in answer.candidates):
        return Check("completion", Verdict.OK, f"candidates: {len(answer.candidates)}, in {timing}")
    reason = "copied ones only" if answer.candidates else answer.reason or Reason.BLANK
    remedy = (
        "If this machine is slow or busy, raise the setting budgetMs. "
        "Try a file of yours: infill-ls complete FILE:LINE:COL"
    )
    return Check("completion", Verdict.WARN, f"no candidates from the model ({reason}) in {timing}", remedy)


def _or_failure(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except InfillError as error:
        return Check(name, Verdict.FAIL, str(error), "Change --model or --device, or the settings of the same name.")


def _readable_size(path: Path) -> int:
    with path.open("rb") as file:
        return file.seek(0, 2)


def _print(console: Console, check: Check) -> None:
    style = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAIL: "bold red"}[check.status]
    line = Text(f"{check.status.value:<5}", style).append(f"{check.name:<11}", "bold").append(check.detail, "default")
    console.print(line, soft_wrap=True)
    if check.remedy:
        console.print(Text(f"     → {check.remedy}"), soft_wrap=True)

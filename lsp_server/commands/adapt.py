"""`infill-ls adapt PATH`: fine-tunes a copy of the default model on a project, here, and keeps it if that helped.

    read the sources ──▶ hold some files out ──▶ measure ──▶ train a copy ──▶ measure again ──▶ keep it, or not

Everything fits into the minutes given. Until the new copy has been measured, nothing of the old one is touched.
"""

import argparse
import contextlib
import json
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from infill_engine.errors import InputError
from infill_engine.heap import keep_freed
from infill_engine.models.folder import DEFAULT, fingerprint
from infill_engine.worker.loading import load_engine
from lsp_server import adapted
from lsp_server.commands.line_trial import LineHole, Score, ask_all, draw_holes
from lsp_server.commands.listing import console_of, say
from lsp_server.excludes import bad_patterns
from lsp_server.project_files import Project, ProjectFile, characters_of, read_project
from lsp_server.settings import ServerSettings

if TYPE_CHECKING:
    from infill_engine.train.adapt import Adapted, Moment

CHARACTERS_PER_MINUTE = 700_000  # read at most; two cores learn from fewer
MEASURING_SHARE = 0.1  # of the minutes, before and again after
MOST_HOLES = 150
LEAST_TRAINING_SECONDS = 1.0
LINE_SECONDS = 15.0  # between two lines of progress where there is no terminal


@dataclass(frozen=True, slots=True)
class Measured:
    """A model on the files held out: its exact line ends, and its loss of prompted middles in nats a token."""

    score: Score
    loss: float


def run(options: argparse.Namespace) -> int:
    """Adapt, or forget. Raises InputError for a folder that there is nothing to learn from, and for a full disk."""
    root = Path(options.path).expanduser().resolve()
    if options.reset:
        return _reset(root, as_json=options.json)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    keep_freed()
    console = console_of(sys.stderr if options.json else sys.stdout)
    for pattern in bad_patterns(options.exclude):
        raise InputError(f"--exclude {pattern!r} is not .gitignore syntax; mend it, so that nothing is read by mistake")
    excludes = ServerSettings(further_excludes=tuple(options.exclude)).excludes
    try:
        with contextlib.ExitStack() as alone:
            with _writing(root):
                alone.enter_context(adapted.only_run())
            report = adapt(root, options.minutes, excludes, console)
    except KeyboardInterrupt:
        print("infill-ls: stopped; everything is as it was before", file=sys.stderr)
        raise
    if options.json:
        print(json.dumps(report))
    return 0


def adapt(root: Path, minutes: float, excludes: tuple[str, ...], console: Console) -> dict[str, object]:
    """Does all of it and says so. Returns the object that `--json` prints: the manifest, `kept` and `folder`."""
    began = time.monotonic()
    _line(
        console, f"Adapting the default model to {root}: {minutes:g} min in all, measuring before and after included."
    )
    project = read_project(root, excludes, int(CHARACTERS_PER_MINUTE * minutes))
    learned, held_out = project.split()
    _tell_what_was_read(console, project, learned, held_out)
    began_measuring = time.monotonic()
    holes = draw_holes(held_out, MOST_HOLES, learned)
    before, holes = _asked(DEFAULT, holes, 60 * minutes * MEASURING_SHARE)
    measuring = time.monotonic() - began_measuring
    from infill_engine.models.load import folder_of
    from infill_engine.train.adapt import adapt as train
    from infill_engine.train.adapt import pack, save

    base = folder_of(DEFAULT)
    assert base is not None
    to_learn, to_judge = (pack(((file.text, file.language) for file in files), base) for files in (learned, held_out))
    left = began + 60 * minutes - measuring - time.monotonic()
    with _progress(console) as report:
        trained = train(base, to_learn, to_judge, max(LEAST_TRAINING_SECONDS, left), report)
    with _writing(root), _staged(root) as staged:
        save(trained, to_learn, base, staged)
        after, _ = _asked(str(staged), holes, 60 * minutes)
        was, now = Measured(before, trained.loss_before), Measured(after, trained.loss_after)
        _compare(console, was, now, len(held_out))
        manifest = _manifest(root, minutes, fingerprint(base), trained, len(learned), len(held_out), was, now)
        kept = is_better(was, now)
        if kept:
            (staged / adapted.MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
            adapted.install(staged, root)
    _tell_what_became_of_it(console, root, kept=kept)
    return {**manifest, "kept": kept, "folder": str(adapted.folder_for(root))}


def is_better(was: Measured, now: Measured) -> bool:
    """Whether the copy is to be kept: it has learned something, and the lines it is asked for came out no worse."""
    return now.loss < was.loss and now.score.first + now.score.any >= was.score.first + was.score.any


def _reset(root: Path, *, as_json: bool) -> int:
    try:
        removed = adapted.remove(root)
    except OSError as error:
        raise InputError(f"{error.filename} cannot be removed ({error.strerror}); see to its permissions") from error
    if as_json:
        print(json.dumps({"project": str(root), "removed": removed}))
    elif removed:
        print(f"The model adapted to {root} is removed. The default one serves it from the server's next start on.")
    else:
        print(f"There is no model adapted to {root}.")
    return 0


def _asked(model: str, holes: list[LineHole], seconds: float) -> tuple[Score, list[LineHole]]:
    """A model's score on as many holes as there is time for, and those holes."""
    with say(f"asking for {len(holes)} line ends"):
        score = ask_all(load_engine(model), holes, seconds)
    return score, holes[: score.holes]


@contextlib.contextmanager
def _staged(root: Path) -> Iterator[Path]:
    """A folder to write the copy to, gone afterwards unless it was installed."""
    staged = adapted.staging_folder(root)
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


@contextlib.contextmanager
def _writing(root: Path) -> Iterator[None]:
    """A disk that refuses is an InputError."""
    try:
        yield
    except BrokenPipeError:  # of our output
        raise
    except OSError as error:
        where = error.filename or adapted.folder_for(root).parent
        raise InputError(
            f"the adapted model cannot be written to {where} ({error.strerror or error}); make room or see to its "
            + "permissions. What was there before is unchanged."
        ) from error


@contextlib.contextmanager
def _progress(console: Console) -> Iterator["Callable[[Moment], None]"]:
    """What is to hear of every training step: a bar in a terminal, a line now and then elsewhere."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (TextColumn("training"), BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)
        total = 0.0

        def report(moment: "Moment") -> None:
            nonlocal total
            total = max(total, moment.seconds_left)
            progress.update(task, total=total, completed=total - moment.seconds_left, description=_described(moment))

        yield report


@dataclass(slots=True)
class _Lines:
    console: Console
    next_at: float = 0.0

    def __call__(self, moment: "Moment") -> None:
        if time.monotonic() >= self.next_at:
            self.next_at = time.monotonic() + LINE_SECONDS
            _line(self.console, f"training: {_described(moment)}, {moment.seconds_left:.0f} s left")


def _described(moment: "Moment") -> str:
    return f"{moment.tokens:,} tokens, loss {moment.loss:.2f}, held out {moment.held_out:.3f}"


def _tell_what_was_read(
    console: Console, project: Project, learned: list[ProjectFile], held_out: list[ProjectFile]
) -> None:
    read = f"Read {len(project.files):,} files, {project.characters:,} characters."
    _line(console, read + project.reasons())
    if project.beyond:
        more = f"{project.beyond:,} further source files are more than fits into the minutes: these are a sample. "
        _line(console, more + "Give more with --minutes.")
    shares = f"Learning from {len(learned):,} files, {characters_of(learned):,} characters"
    _line(console, f"{shares}; held out to judge by: {len(held_out):,} files, {characters_of(held_out):,} characters.")


def _compare(console: Console, was: Measured, now: Measured, files: int) -> None:
    table = Table(title=None, box=None, pad_edge=False)
    table.add_column("on files not learned from")
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    rows = [
        ("rest of line exact, first candidate", was.score.first, now.score.first),
        ("rest of line exact, any of four", was.score.any, now.score.any),
        ("model alone, first candidate", was.score.alone_first, now.score.alone_first),
        ("model alone, any of four", was.score.alone_any, now.score.alone_any),
    ]
    for name, *pair in rows:
        table.add_row(name, *(_share(number, was.score.holes) for number in pair))
    table.add_row("loss, nats a token", f"{was.loss:.3f}", f"{now.loss:.3f}")
    console.print(table)
    _line(console, f"{was.score.holes} holes in {files} files. The loss also chose the moment of training to keep.")


def _tell_what_became_of_it(console: Console, root: Path, *, kept: bool) -> None:
    folder = adapted.folder_for(root)
    if kept:
        _line(
            console, f"Kept in {folder}, readable by you alone. It is used for files of this project from the server's"
        )
        _line(console, "next start on, or after the command infill.restartEngine. `adapt --reset` removes it.")
    elif folder.exists():
        _line(console, "Not better than the default model: thrown away. The copy of an earlier run stays in use.")
    else:
        _line(console, "Not better than the default model: thrown away. The default model stays in use.")


def _manifest(
    root: Path, minutes: float, base: str, trained: "Adapted", learned: int, held_out: int, was: Measured, now: Measured
) -> dict[str, object]:
    return {
        "project": str(root),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "base": base,
        "minutes": minutes,
        "tokens": trained.tokens,
        "steps": trained.steps,
        "files": {"learned": learned, "held_out": held_out},
        "before": asdict(was),
        "after": asdict(now),
    }


def _share(number: int, of: int) -> str:
    return f"{number / of:.1%}" if of else "–"


def _line(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True)

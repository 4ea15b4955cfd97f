"""`infill-ls stats`: what was offered and accepted, how fast, and why there was no answer. Nothing is sent."""

import argparse
import json
import sys

from rich.console import Console
from rich.text import Text

from infill_engine.errors import InputError
from infill_engine.types import Reason
from lsp_server.cli.terminal import bars_of, console_of
from lsp_server.protocol.reasons import REASONS
from lsp_server.suggestions.outcomes import ACCEPTED_LATE, CHARACTERS_SAVED, SHOWN, SHOWN_LATE, Outcome
from lsp_server.usage import store
from lsp_server.usage.counters import ANSWERS, REQUESTS, SILENCE, histogram, percentile, total
from lsp_server.usage.store import Counts, Days

DAYS_SHOWN = 14
SHARES = (0.5, 0.9, 0.99)


def run(options: argparse.Namespace) -> int:
    """Print or delete the counts. Raises InputError if their file cannot be used."""
    try:
        if options.reset:
            return _reset(as_json=options.json)
        days, warning = store.read()
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{store.path()} cannot be used ({why}); check its permissions") from error
    if warning:
        print(warning, file=sys.stderr)
    if options.json:
        print(json.dumps(as_json(days)))
    else:
        show(days, console_of(sys.stdout))
    return 0


def _reset(*, as_json: bool) -> int:
    removed = store.reset()
    if as_json:
        print(json.dumps({"file": str(store.path()), "removed": removed}))
    else:
        print("The statistics are deleted." if removed else "There were no statistics.")
    return 0


def as_json(days: Days) -> dict[str, object]:
    """The object that `--json` prints. `total` and each of `days` hold the same fields. Times are in milliseconds."""
    return {
        "file": str(store.path()),
        "total": _numbers(total(days)),
        "days": {day: _numbers(days[day]) for day in sorted(days)},
    }


def show(days: Days, console: Console) -> None:
    """Print all counts for a human reader."""
    counts = total(days)
    if not counts[REQUESTS]:
        console.print("Nothing has been counted yet. Counting starts with the first request from an editor.")
        console.print(f"The counts will be kept in {store.path()}.", soft_wrap=True)
        return
    _show_outcomes(console, days, counts)
    _show_latency(console, counts)
    _show_reasons(console, counts)
    _show_days(console, days)
    console.print(f"\nCounted on this machine and sent nowhere: {store.path()}", soft_wrap=True)


def _show_outcomes(console: Console, days: Days, counts: Counts) -> None:
    shown = counts[SHOWN]
    since = f"since {min(days)}" if days else ""
    console.print(Text(f"Suggestions {since}", "bold"))
    console.print(f"  {_many(counts[REQUESTS])} requests, {_many(counts[ANSWERS])} answered with candidates")
    console.print(f"  {_many(shown)} suggestions shown, {_many(counts[CHARACTERS_SAVED])} characters saved")
    if late := counts[SHOWN_LATE]:
        console.print(f"  {_many(late)} of them after the deadline; {_many(counts[ACCEPTED_LATE])} of these accepted")
    bars = [
        ("accepted", counts[Outcome.ACCEPTED], "green"),
        ("accepted in part", counts[Outcome.PARTIAL], "green"),
        ("typed by hand", counts[Outcome.TYPED], "cyan"),
        ("rejected", counts[Outcome.REJECTED], "yellow"),
        ("dismissed", counts[Outcome.DISMISSED], "yellow"),
    ]
    console.print(bars_of([(name, number, style, _share(number, shown)) for name, number, style in bars], most=shown))


def _show_latency(console: Console, counts: Counts) -> None:
    times = [percentile(counts, share) for share in SHARES]
    if None in times:
        return
    console.print(Text("\nTime from request to reply", "bold"))
    named = (f"{share:.0%} within {time:.0f} ms" for share, time in zip(SHARES, times, strict=True))
    console.print(f"  {', '.join(named)}")
    rows = [
        (f"{least}–{most} ms" if most else f"over {least} ms", number, "blue", "")
        for least, most, number in histogram(counts)
        if number
    ]
    console.print(bars_of(rows))


def _show_reasons(console: Console, counts: Counts) -> None:
    reasons = [(reason, counts[SILENCE + reason.value]) for reason in Reason if counts[SILENCE + reason.value]]
    if not reasons:
        return
    console.print(Text("\nSilences", "bold"))
    reasons.sort(key=lambda item: -item[1])
    console.print(bars_of([(REASONS[reason].words, number, "magenta", "") for reason, number in reasons]))


def _show_days(console: Console, days: Days) -> None:
    if len(days) < 2:
        return
    console.print(Text("\nAccepted, day by day", "bold"))
    recent = sorted(days)[-DAYS_SHOWN:]
    taken = {day: days[day][Outcome.ACCEPTED] + days[day][Outcome.PARTIAL] for day in recent}
    console.print(bars_of([(day, taken[day], "green", _share(taken[day], days[day][SHOWN])) for day in recent]))


def _numbers(counts: Counts) -> dict[str, object]:
    silences = {reason.value: counts[SILENCE + reason.value] for reason in Reason if counts[SILENCE + reason.value]}
    times = {f"p{share * 100:.0f}": percentile(counts, share) for share in SHARES}
    plain = (REQUESTS, ANSWERS, SHOWN, SHOWN_LATE, *Outcome, ACCEPTED_LATE, CHARACTERS_SAVED)
    return {
        **{str(name): counts[name] for name in plain},
        "silences": silences,
        "latencyMs": {name: None if time is None else round(time, 1) for name, time in times.items()},
        "histogramMs": [list(bar) for bar in histogram(counts) if bar[2]],
    }


def _many(number: int) -> str:
    return f"{number:,}"


def _share(number: int, of: int) -> str:
    return f"{number / of:.0%}" if of else ""

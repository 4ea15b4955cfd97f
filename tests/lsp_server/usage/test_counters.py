"""What is counted, that it survives whatever happens to its file, and how it is shown."""

import asyncio
import json
import sqlite3
import stat
import subprocess
import sys
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from capabilities import BARE
from editor import REPOSITORY, editor

from infill_engine.errors import InputError
from infill_engine.types import Reason
from lsp_server.__main__ import main
from lsp_server.usage import store
from lsp_server.usage.counters import UsageCounters, histogram, percentile, total

DAY = "2026-11-20"
SECRET = "hunter2"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def add(**counts: int) -> str | None:
    return store.add({DAY: Counter(counts)})


def read() -> dict[str, Counter[str]]:
    return store.read()[0]


def test_counts_add_up_in_a_file_of_ones_own(folder: Path) -> None:
    assert read() == {}
    assert add(accepted=2, rejected=1) is None
    assert add(accepted=1, rejected=-1) is None
    store.add({"2026-11-21": Counter(accepted=5)})
    assert read() == {DAY: Counter(accepted=3), "2026-11-21": Counter(accepted=5)}
    assert stat.S_IMODE((folder / "statistics.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in folder.iterdir()] == ["statistics.db"]


ADDING = """
from collections import Counter
from lsp_server.usage import store
store.LOCK_SECONDS = 60
for _ in range(50):
    store.add({"2026-11-20": Counter(accepted=1)})
"""


def test_several_servers_at_once_lose_nothing() -> None:
    processes = [subprocess.Popen([sys.executable, "-c", ADDING], cwd=REPOSITORY) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4
    assert read() == {DAY: Counter(accepted=200)}


def written(*statements: str) -> bytes:
    """A database of somebody else."""
    database = sqlite3.connect(":memory:")
    for statement in statements:
        database.execute(statement)
    database.commit()
    return database.serialize()


DAMAGED = [
    b"{" * 600,
    b"\xff\x00" * 300,
    b" " * 5_000_000,
    written(
        "CREATE TABLE counts (day TEXT, name TEXT, number INTEGER, PRIMARY KEY (day, name))",
        "INSERT INTO counts VALUES ('2026-11-20', 'rejected', 'many')",
    ),
]


@pytest.mark.parametrize("data", DAMAGED, ids=lambda data: data[:30].decode(errors="replace"))
def test_a_damaged_file_is_moved_aside(folder: Path, data: bytes) -> None:
    add(accepted=1)
    (folder / "statistics.db").write_bytes(data)
    warning = add(accepted=4)
    assert read() == {DAY: Counter(accepted=4)}
    (aside,) = folder.glob("*damaged*")
    assert aside.read_bytes() == data
    assert str(aside) in str(warning)
    assert add(accepted=1) is None


def test_a_newer_format_is_left_alone(folder: Path) -> None:
    add(accepted=1)
    newer = written("PRAGMA user_version = 2", "CREATE TABLE different (all_of_it)")
    (folder / "statistics.db").write_bytes(newer)
    with pytest.raises(InputError, match="newer"):
        add(accepted=1)
    assert (folder / "statistics.db").read_bytes() == newer


def test_a_full_disk_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    add(accepted=1)

    def full(*_arguments: object, **_options: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    async def save_twice() -> None:
        counters = UsageCounters(lambda _sentence: None, lambda: date(2026, 11, 20))
        counters.count("accepted", 2)
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", full)
            await counters.save()
        counters.count("accepted")
        await counters.save()
        assert counters.pending == {}

    asyncio.run(save_twice())
    assert read() == {DAY: Counter(accepted=4)}


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path / "file"))

    async def save() -> None:
        counters = UsageCounters(lambda _sentence: None)
        counters.count("accepted")
        await counters.save()
        assert total(counters.pending) == Counter(accepted=1)

    asyncio.run(save())
    assert main(["stats"]) == 2


def test_a_lock_that_is_never_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    add(accepted=1)
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.0)
    other = sqlite3.connect(store.path(), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(OSError, match="locked"):
        add(accepted=1)
    other.close()


def test_only_so_many_days_are_kept() -> None:
    days = {f"{year}-{month:02}-01": Counter(accepted=1) for year in range(1900, 2000) for month in range(1, 13)}
    store.add(days)
    assert len(read()) == store.DAYS_KEPT
    assert max(read()) == "1999-12-01"


def tallied(*answers: tuple[Reason | None, float]) -> Counter[str]:
    async def count() -> Counter[str]:
        counters = UsageCounters(lambda _sentence: None)
        for reason, elapsed_ms in answers:
            counters.answered(reason, elapsed_ms)
        return total(counters.pending)

    return asyncio.run(count())


ANSWERS = [
    ([(None, 3.0)], {"requests": 1, "answers": 1, "ms.5": 1}),
    ([(None, 150.0)], {"requests": 1, "answers": 1, "ms.150": 1}),
    ([(None, 9999.0)], {"requests": 1, "answers": 1, "ms.more": 1}),
    ([(Reason.DEADLINE, 149.0)], {"requests": 1, "silence.deadline": 1, "ms.150": 1}),
    ([(Reason.SUPERSEDED, 20.0)], {"requests": 1, "silence.superseded": 1}),
    ([(Reason.EXCLUDED, 0.1)], {"requests": 1, "silence.excluded": 1}),
]


@pytest.mark.parametrize(("answers", "expected"), ANSWERS, ids=str)
def test_answers_are_counted(answers: list[tuple[Reason | None, float]], expected: dict[str, int]) -> None:
    assert tallied(*answers) == expected


PERCENTILES = [
    ([], 0.5, None),
    ([7.0], 0.5, 7.5),  # the middle of its bar
    ([12.0] * 100, 0.9, 14.5),
    ([12.0] * 50 + [45.0] * 50, 0.5, 15.0),
    ([12.0] * 50 + [45.0] * 50, 1.0, 50.0),
    ([12.0] * 99 + [9000.0], 1.0, 5000.0),
]


@pytest.mark.parametrize(("times", "share", "expected"), PERCENTILES, ids=str)
def test_percentiles(times: list[float], share: float, expected: float | None) -> None:
    counts = tallied(*((None, time) for time in times))
    assert percentile(counts, share) == (None if expected is None else pytest.approx(expected))
    assert sum(number for _, _, number in histogram(counts)) == len(times)


async def test_a_server_counts_and_never_keeps_text() -> None:
    script = {"rules": [{"before": "x = ", "candidates": [f"{SECRET}()"]}]}
    async with editor(BARE, script, options={"budgetMs": 5000}) as made:
        await made.ready()
        uri = made.open("x = │\n", f"file:///{SECRET}.py")
        assert await made.ask(uri) == [f"{SECRET}()"]
        made.type(uri, SECRET)
        assert (await made.candidates(uri)).reason is None
        assert await made.ask(made.open("x = │", "file:///project/.env")) == []
        counts = await made.leave()
        assert (counts["requests"], counts["answers"], counts["silence.excluded"]) == (3, 2, 1)
        assert (counts["shown"], counts["partial"], counts["charactersSaved"]) == (1, 1, len(SECRET))
        assert SECRET.encode() not in (made.folder / "statistics.db").read_bytes()


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["stats", *arguments]) == 0
    return capsys.readouterr().out


def test_nothing_has_been_counted(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    out = printed(capsys)
    assert "Nothing has been counted yet" in out
    assert str(folder) in out
    assert json.loads(printed(capsys, "--json"))["total"]["requests"] == 0
    assert "no statistics" in printed(capsys, "--reset")
    assert json.loads(printed(capsys, "--reset", "--json"))["removed"] is False


def test_it_is_shown_and_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    names = {"silence.blank": 30, "silence.superseded": 10, "ms.75": 40, "ms.125": 10, "charactersSaved": 1234}
    names |= {"shownLate": 7, "acceptedLate": 3}
    store.add({DAY: Counter(requests=90, answers=50, shown=40, accepted=20, partial=4, rejected=16, **names)})
    store.add({"2026-11-21": Counter(requests=1, answers=1, shown=1, typed=1)})
    out = printed(capsys)
    for expected in (
        "since 2026-11-20",
        "91 requests, 51 answered",
        "41 suggestions shown, 1,234 characters saved",
        "7 of them after the deadline; 3 of these accepted",
        "50% within",
        "50–75 ms",
        "nothing to add",
        "2026-11-21",
    ):
        assert expected in out
    rows = {line[:20].strip(): line.count("█") for line in out.splitlines() if "█" in line}
    assert rows["accepted"] > rows["rejected"] > rows["accepted in part"] > 0
    told = json.loads(printed(capsys, "--json"))
    assert told["total"]["accepted"] == told["days"][DAY]["accepted"] == 20
    assert (told["total"]["shownLate"], told["total"]["acceptedLate"]) == (7, 3)
    assert told["total"]["silences"] == {"blank": 30, "superseded": 10}
    assert 50 < told["total"]["latencyMs"]["p50"] <= 75
    assert "deleted" in printed(capsys, "--reset")
    assert read() == {}


def test_a_damaged_file_is_told_of(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    add(accepted=1)
    (folder / "statistics.db").write_bytes(b"{" * 600)
    assert main(["stats"]) == 0
    assert "damaged" in capsys.readouterr().err

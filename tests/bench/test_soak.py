"""The soak in its short form: a few hundred keys in three windows, some faults, some thousand odd inputs."""

import pytest

from bench.soak.__main__ import spend_day
from bench.soak.faults.__main__ import SETTINGS, in_setting
from bench.soak.fuzz.__main__ import run

# Each needs engines of its own; those that are slow to recover are left to the long form.
QUICK = ("kill_engine", "pause_server", "kill_server", "kill_client")


def test_a_short_day_in_three_windows() -> None:
    rows, memory, summary = spend_day(240, 3, "scripted")
    assert summary["wrong"] == []
    assert summary["faults"] == {}
    assert summary["requests"] == summary["answered"] == len(rows) > 100
    assert summary["with_candidates"] > 0
    assert (summary["engines"], summary["engine_changed"]) == (1, False)
    assert memory[-1]["engine"] > 0
    assert all(0 < each["before"] <= each["most"] for each in summary["memory_mb"].values())


def test_faults_lose_no_request() -> None:
    rows = in_setting(SETTINGS[0], 3, "scripted", 2, QUICK)
    assert [row["fault"] for row in rows] == list(QUICK)
    assert [row["wrong"] for row in rows] == [[]] * len(QUICK)
    assert [row["lost"] for row in rows] == [0] * len(QUICK)
    assert all(row["requests"] > 0 for row in rows)


@pytest.mark.parametrize(("kind", "inputs"), [("frames", 6_000), ("messages", 1_200), ("edits", 1_500)])
def test_odd_inputs(kind: str, inputs: int) -> None:
    counted = run(kind, inputs, 2)
    assert counted["faults"] == []
    assert counted["inputs"] == inputs

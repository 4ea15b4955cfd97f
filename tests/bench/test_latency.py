"""The replay is real typing, and the client times a real server; no test looks at the clock."""

import json
from pathlib import Path

import pytest

from bench.latency.__main__ import main, summarise
from bench.latency.targets import TARGETS, judge
from bench.replay.keystrokes import Keystroke, Replay, Stroke, _block, apply, make_replay
from bench.replay.sources import SourceFile, standard_library
from bench.replay.typing_runs import Sample
from infill_engine.errors import InputError


@pytest.fixture(scope="module")
def files() -> list[SourceFile]:
    return standard_library()


def typed(replay: Replay) -> str:
    lines = replay.text.split("\n")
    for key in replay.keystrokes:
        apply(lines, key)
    return "\n".join(lines)


@pytest.mark.parametrize("lines", [200, 3000])
def test_all_keystrokes_together_write_the_block(files: list[SourceFile], lines: int) -> None:
    replay = make_replay(files, lines, None, seed=5)
    assert "\n".join(_block(files)) in typed(replay)
    assert {key.stroke for key in replay.keystrokes} == set(Stroke)
    assert abs(replay.text.count("\n") - lines) < 130


def test_the_same_is_typed_into_small_and_large_documents(files: list[SourceFile]) -> None:
    small, large = (make_replay(files, lines, 400, seed=0).keystrokes for lines in (200, 5000))
    assert [(key.text, key.column, key.invoked) for key in small] == [
        (key.text, key.column, key.invoked) for key in large
    ]
    assert len({far.row - near.row for near, far in zip(small, large, strict=True)}) == 1


def test_too_much_typing_is_refused(files: list[SourceFile]) -> None:
    with pytest.raises(InputError, match="keystrokes"):
        make_replay(files, 200, 100_000, seed=0)
    with pytest.raises(InputError):
        make_replay([SourceFile("a", "a.py", "x = 1\n")], 200, 10, seed=0)


@pytest.mark.parametrize(
    ("key", "after", "cursor"),
    [
        (Keystroke(0, 2, 0, "x", Stroke.END, False), ["abx", "cd"], (0, 3)),
        (Keystroke(1, 0, 1, "", Stroke.DELETION, False), ["ab", "d"], (1, 0)),
        (Keystroke(0, 1, 0, "\n  ", Stroke.ENTER, False), ["a", "  b", "cd"], (1, 2)),
    ],
)
def test_a_keystroke(key: Keystroke, after: list[str], cursor: tuple[int, int]) -> None:
    lines = ["ab", "cd"]
    apply(lines, key)
    assert lines == after
    assert key.cursor == cursor


def test_figures_split_by_how_an_answer_was_served() -> None:
    def sample(lines: int, ms: float, served: str = "model") -> Sample:
        return Sample("closed", lines, "end", False, ms, ms, int(served != "refused"), served)

    small = [sample(200, 40), sample(200, 2, "typed-through"), sample(200, 900, "cancelled"), sample(200, 160)]
    found = summarise([*small, sample(20_000, 60), sample(20_000, 180), sample(20_000, 1, "refused")], 150)
    assert found["closed_200"]["n"] == 3
    assert found["closed_200"]["answered_null"] == 1
    assert found["closed_200"]["max"] == 160
    assert found["closed_200"]["late"] == pytest.approx(1 / 3, abs=1e-3)
    assert found["closed_200"]["late_beyond_grace"] == 0
    assert found["closed_20000"]["late_beyond_grace"] == pytest.approx(1 / 3, abs=1e-3)
    assert found["lines_ratio"]["model_p50"] == pytest.approx(120 / 100)


def test_targets() -> None:
    judged = judge({"p50": 80.0, "p99": 150.1})
    assert (judged["p50"]["met"], judged["p99"]["met"]) == (True, False)
    assert set(judged) < {target.name for target in TARGETS}


def test_the_real_server_is_typed_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.latency.__main__.SETTLE_SECONDS", 0.1)
    script, out = tmp_path / "script.json", tmp_path / "latency.jsonl"
    script.write_text(json.dumps({"rules": [{"before": "", "candidates": ["value", "other(1)"]}]}))
    arguments = ["--model", f"scripted:{script}", "--keystrokes", "30", "--open-keystrokes", "8", "--lines", "200,1000"]
    assert main([*arguments, "--budget-ms", "5000", "--no-model", "--out", str(out)]) == 0
    last = json.loads(capsys.readouterr().out.strip().split("\n")[-1])
    assert last["closed_200"]["keystrokes"] == last["closed_1000"]["keystrokes"] == 30
    assert last["open_200"]["keystrokes"] == 8
    assert last["closed_200"]["with_candidates"] > 0.5
    assert last["exit_status"] == 0
    assert last["torch_in_server"] in (False, None)
    assert last["memory_at_end"]["server_mb"] > 0
    assert {"p50", "p99", "max", "server_mb", "worker_mb", "lines_ratio"} <= last["targets"].keys()
    assert len(out.read_text().splitlines()) == 76
    assert (tmp_path / "latency.png").stat().st_size > 1000

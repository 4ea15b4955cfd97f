"""Holes, systems and figures, with real text and a scripted model; the whole bench from the command line once."""

import json
from dataclasses import asdict
from pathlib import Path

import msgspec
import numpy as np
import pytest

from bench.json_lines import COMMITTED_BYTES, write_lines
from bench.quality.__main__ import main
from bench.quality.calibrate import MOST_PAIRS, NAMES, Weighed, fit, gate, proposals_of, shown, worth
from bench.quality.calibrate import main as calibrate
from bench.quality.measuring import measure
from bench.quality.problems.holes import KINDS, Task, draw_tasks
from bench.quality.reports.outcomes import ALL, Outcome, calibration_of, judge, read_outcomes, summarise
from bench.quality.systems.product import EngineSystem, ObservedEngine, Reply, ask, copy, nothing
from bench.replay.sources import SourceFile, standard_library
from bench.spread import spread
from infill_engine.diagnostics.benchmark.statistics import percentile
from infill_engine.engine.engine_loading import proposer_of
from infill_engine.errors import InputError
from infill_engine.ranking.calibration import Calibration
from infill_engine.sampling.scripted import Script
from tests.scripted_canvas import ScriptedModel

CURSOR = "│"


@pytest.fixture(scope="module")
def files() -> list[SourceFile]:
    return [file for file in standard_library() if file.path in ("argparse.py", "csv.py", "queue.py", "shlex.py")]


def task(marked: str, gold: str, *, cluster: str = "a", kind: str = "line", trivial: bool = False) -> Task:
    left, right = marked.split(CURSOR)
    lines = left.split("\n")
    return Task(f"{cluster}:{marked}", cluster, kind, left + right, len(lines) - 1, len(lines[-1]), gold, trivial)


def engine(*rules: tuple[str, tuple[str, ...]]) -> ObservedEngine:
    return ObservedEngine(proposer_of(ScriptedModel(Script(rules))), "scripted", Calibration())


def test_holes_put_back_give_the_file(files: list[SourceFile]) -> None:
    tasks = draw_tasks(files, 12, seed=3)
    texts = {file.text for file in files}
    for made in tasks:
        lines = made.text.split("\n")
        offset = len("\n".join([*lines[: made.row], lines[made.row][: made.column]]))
        assert made.text[:offset] + made.gold + made.text[offset:] in texts
        right = lines[made.row][made.column :]
        assert bool(right.strip()) == (made.kind == "middle")
        assert made.kind == "block" or "\n" not in made.gold
        if made.kind == "block":
            assert 2 <= len(made.gold.split("\n")) <= 5
            assert lines[made.row][: made.column].strip() == ""
    counted = {kind: sum(made.kind == kind and not made.trivial for made in tasks) for kind in KINDS}
    assert counted == dict.fromkeys(KINDS, 12)


def test_holes_are_the_same_for_the_same_seed(files: list[SourceFile]) -> None:
    assert draw_tasks(files, 5, seed=1) == draw_tasks(files, 5, seed=1)
    assert draw_tasks(files, 5, seed=1) != draw_tasks(files, 5, seed=2)


def test_every_package_has_its_share() -> None:
    body = "".join(f"def name_{n}(value):\n    result = value + {n}\n    return result\n\n\n" for n in range(40))
    long = [SourceFile("long", f"{n}.py", body) for n in range(9)]
    tasks = draw_tasks([*long, SourceFile("short", "one.py", body)], 10, seed=0)
    for kind in KINDS:
        assert sum(made.kind == kind and not made.trivial and made.cluster == "short" for made in tasks) == 5


def test_docstrings_comments_and_data_are_not_drawn() -> None:
    text = '"""Prose that\nspans lines\n"""\n# remark\nvalue = 1  # remark\nwanted = something()\n'
    data = "TABLE = [\n" + "".join(f"    ({n}, 'value_{n}'),\n" for n in range(400)) + "]\n"
    tasks = draw_tasks([SourceFile("a", "a.py", text), SourceFile("a", "data.py", data)], 3, seed=0)
    assert {made.row for made in tasks} == {5}
    with pytest.raises(InputError):
        draw_tasks([SourceFile("a", "a.py", '"""Prose."""\n# remark\n')], 3, seed=0)


def test_systems_are_judged_against_the_gold_text() -> None:
    tasks = [
        task("first = alpha(1)\nuse(first)\nagain()\nfirst = │\nrest()\n", "alpha(1)"),
        task("def f():\n    return │\n\n\ng()\n", "one + two", cluster="b"),
        task("x.y(│)\n", "z", kind="middle", trivial=True),
    ]
    systems = {
        "nothing": nothing,
        "copy": copy,
        "engine": EngineSystem(engine(("return ", ("two", "one + two"))), 5_000),
    }
    outcomes = measure(tasks, systems, 4, 5_000)
    summary = summarise(outcomes, 4)
    assert summary["nothing"][ALL]["n"] == 2
    assert summary["nothing"][ALL]["abstained"] == 1
    assert summary["nothing"][ALL]["edit_similarity"] == 0
    assert summary["copy"][ALL]["exact_match@1"] == 0.5
    assert summary["engine"]["line"]["exact_match@1"] == 0.0  # the shorter text came first
    assert summary["engine"]["line"]["exact_match@4"] == 0.5
    assert summary["engine"][ALL]["late"] == 0
    assert summary["engine"]["middle (trivial)"]["n"] == 1
    (asked,) = [outcome for outcome in outcomes if outcome.system == "engine" and outcome.cluster == "b"]
    assert asked.texts[asked.exact.index(True)] == "one + two"
    assert sorted(proposal["right"] for proposal in asked.proposals) == [False, True]
    shown = calibration_of([outcome for outcome in outcomes if outcome.system == "engine"])["shown"]
    assert sum(entry["n"] for entry in shown["bins"]) == sum(
        len(outcome.texts) for outcome in outcomes if outcome.system == "engine" and not outcome.trivial
    )


def test_an_equal_request_is_computed_again() -> None:
    system = EngineSystem(engine(("return ", ("one",))), 5_000)
    made = task("def f():\n    return │\n", "one")
    outcomes = measure([made, made], {"engine": system}, 4, 5_000)
    assert all(outcome.proposals for outcome in outcomes)


def test_a_calibration_learns_what_matters_and_stays_honest() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4000, len(NAMES)))
    features[:, NAMES.index("new_faults")] = 0.0
    truth = 1 / (1 + np.exp(-(2 * features[:, 0] - 1)))
    proposals = Weighed(features, (rng.random(4000) < truth).astype(float), np.arange(4000) // 4)
    fitted = fit(proposals)
    assert fitted.weights["mean_logprob"] == pytest.approx(2, abs=0.2)
    assert fitted.bias == pytest.approx(-1, abs=0.2)
    assert abs(fitted.weights["tokens"]) < 0.2
    assert fitted.weights["new_faults"] == 0  # never seen, so nothing is known of it
    assert not fitted.pairs  # products that say nothing stay out
    assert worth(fitted, proposals)["ece"] < 0.03 < worth(Calibration(), proposals)["ece"]
    assert Calibration.from_json(fitted.to_json()) == fitted


def test_a_calibration_finds_what_two_features_say_together() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(3000, len(NAMES)))
    features[:, NAMES.index("new_faults")] = 0.0
    copied, tokens = (features[:, NAMES.index(name)] for name in ("copied", "tokens"))
    right = (rng.random(3000) < 1 / (1 + np.exp(-3 * copied * tokens))).astype(float)
    proposals = Weighed(features, right, np.arange(3000) // 3)
    fitted = fit(proposals)
    assert next(iter(fitted.pairs)) == "copied*tokens"
    assert fitted.pairs["copied*tokens"] == pytest.approx(3, abs=0.4)
    assert len(fitted.pairs) <= MOST_PAIRS
    without = msgspec.structs.replace(fitted, pairs={})
    assert worth(fitted, proposals)["log_loss"] < 0.8 * worth(without, proposals)["log_loss"]


def test_the_gate_is_the_least_confidence_that_keeps_what_is_shown_right() -> None:
    confidence = np.linspace(0.01, 0.99, 99)
    features = np.zeros((99, len(NAMES)))
    features[:, NAMES.index("mean_logprob")] = np.log(confidence / (1 - confidence))
    right = (confidence >= 0.5).astype(float)  # below one half nothing is, above everything
    proposals = Weighed(features, right, np.arange(99))
    plain = Calibration(bias=0.0, weights={"mean_logprob": 1.0})
    assert gate(plain, proposals, 1.0) == pytest.approx(0.5, abs=0.011)
    threshold = gate(plain, proposals, 0.6)
    assert shown(plain, proposals, threshold)["right"] >= 0.6 > shown(plain, proposals, threshold - 0.02)["right"]
    assert gate(plain, Weighed(features, np.zeros(99), np.arange(99)), 0.6) == 1.0


@pytest.mark.parametrize(
    ("text", "partial", "right"),
    [
        ("one + two", False, True),
        ("one", False, False),
        ("one +", True, True),
        ("o", True, False),
        ("two +", True, False),
    ],
)
def test_a_partial_guess_is_right_when_it_is_half_of_the_gold(text: str, partial: bool, right: bool) -> None:
    proposal = {"text": text, "features": {"partial": float(partial)}}
    reply = Reply(proposals=(proposal,))
    question = ask(task("def f():\n    return │\n", "one + two"), 4)
    assert judge("engine", question, reply, 150).proposals[0]["right"] is right


def test_judging_on_what_was_fitted_and_fitting_on_little_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        outcomes = measure([task("x = │\n", "one", cluster=name)], {"nothing": nothing}, 4, 150)
        write_lines([asdict(outcome) for outcome in outcomes], tmp_path / f"{name}.jsonl")
    for judge_on, told in (("a", "the same packages, a"), ("b", "measure more holes")):
        options = ["--judge", str(tmp_path / f"{judge_on}.jsonl"), "--system", "nothing", "--out", str(tmp_path / "c")]
        assert calibrate([str(tmp_path / "a.jsonl"), *options]) == 2
        assert told in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def test_results_of_a_product_with_other_features_are_refused() -> None:
    reply = Reply(proposals=({"text": "one", "features": {"partial": 0.0, "mean_logprob": -1.0}},))
    outcome = judge("engine", ask(task("def f():\n    return │\n", "one + two"), 4), reply, 150)
    with pytest.raises(InputError, match="measure again"):
        proposals_of([outcome])


def test_large_results_are_gzipped(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    assert write_lines([{"a": 1}], path) == path
    big = write_lines([{"a": "x" * COMMITTED_BYTES}], path)
    assert big.name == "r.jsonl.gz"
    assert not path.exists()
    assert write_lines([{"a": 1}], path) == path
    assert not big.exists()
    path.write_text("{}\n")
    with pytest.raises(InputError):
        read_outcomes(path)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([], 0.5, 0), ([3], 0.99, 3), ([1, 2, 3], 0.5, 2), ([1, 2], 0.5, 1.5), ([0, 100], 0.99, 99)],
)
def test_percentile(values: list[float], share: float, expected: float) -> None:
    assert percentile(values, share) == pytest.approx(expected)
    assert spread([1.0])["max"] == 1.0


def test_the_whole_bench_on_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {
            "task_id": f"SingleLineInfilling/HumanEval/{number}/L0",
            "prompt": "def add(a, b):\n    # sum\n",
            "suffix": "",
            "canonical_solution": "    return a + b\n",
            "test": "def check(candidate):\n    assert candidate(2, 3) == 5\n",
            "entry_point": "add",
        }
        for number in range(2)
    ]
    data, script, out = tmp_path / "p.jsonl", tmp_path / "s.json", tmp_path / "results" / "p.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    script.write_text(json.dumps({"rules": [{"before": "", "candidates": ["return a + b", "return a - b"]}]}))
    arguments = ["--data", str(data), "--model", f"scripted:{script}", "--execute", "--out", str(out)]
    assert main([*arguments, "--systems", "nothing", "engine", "--budget-ms", "5000"]) == 0
    last = json.loads(capsys.readouterr().out.strip().split("\n")[-1])
    assert (last["n"], last["exact_match@4"], last["pass@4"]) == (2, 1.0, 1.0)
    assert last["systems"]["nothing"][ALL]["pass@1"] == 0.0
    assert {"edit_similarity", "abstained", "parse_rate", "p50_ms", "p99_ms", "late"} <= last.keys()
    outcomes = read_outcomes(out)
    assert len(outcomes) == 4
    assert isinstance(outcomes[0], Outcome)
    assert {path.name for path in out.parent.iterdir()} == {"p.jsonl", "p.png", "p-reliability.png", "p-summary.json"}


@pytest.mark.parametrize(
    "arguments",
    [["--packages", "/nowhere"], ["--execute"], ["--systems", "oracle"], ["--data", "/nowhere"]],
)
def test_bad_options_are_told(arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").write_text("value = compute(argument)\n")
    assert main(["--packages", str(tmp_path), "--model", "scripted", *arguments]) == 2
    assert capsys.readouterr().err

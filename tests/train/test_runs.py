"""A run of the trainer, here of next edits: what it draws from histories, and that it goes on where it stopped."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "infill_engine" / "models" / "trunk"))

from tiny import TRUNK, base_of
from tiny_trunk import write_tokenizer

from bench.edits.histories.commits import ChangedFile, Commit, Hunk
from bench.edits.histories.examples import examples
from infill_engine.errors import TrainingError
from infill_engine.models.trunk.prompt import TrunkVocabulary
from train import checkpoint
from train.next_edits.examples import LEAST_RECENT, Deck
from train.next_edits.task import NextEdits
from train.run import MOST_SKIPPED, WARMUP, Run, Settings, rate_at

COMMITS = 12


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory) -> TrunkVocabulary:
    return TrunkVocabulary(write_tokenizer(tmp_path_factory.mktemp("tokenizer")))


@pytest.fixture(scope="module")
def histories(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("histories")
    for split in ("train", "calibration"):
        made = [example for number in range(COMMITS) for example in examples(commit(f"{split}{number}"))]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(example) + "\n" for example in made))
    return folder


def commit(name: str) -> Commit:
    """Four calls of a long file get another argument, one after the other."""
    rows = [f"call_{row}(width)\n" if row % 20 == 5 else f"line_{row} = {row}\n" for row in range(80)]
    hunks = [Hunk(row, rows[row], rows[row].replace("width", f"width, {name}")) for row in range(5, 80, 20)]
    return Commit(name, (ChangedFile("a.py", "python", "".join(rows), tuple(hunks)),))


def opened(vocabulary, histories, folder) -> Run:
    embedding = torch.randn(len(vocabulary), TRUNK.config.dim, generator=torch.Generator().manual_seed(4)) * 0.1
    trunk = replace(TRUNK, embedding=embedding)
    return Run.open(NextEdits(base_of(trunk), vocabulary, 2, histories, 3), folder)


def train(vocabulary, histories, folder, count, stopping=()) -> Run:
    folder.mkdir(exist_ok=True)
    run = opened(vocabulary, histories, folder)
    with ThreadPoolExecutor(2) as pool:
        run.train(pool, Settings(folder, 1.0, count, 1e-2, 4, 10.0), stopping)
    return run


def test_an_edit_shows_its_change_and_a_finished_state_none(vocabulary, histories):
    drawn = list(islice(Deck(histories / "train.jsonl", vocabulary, 0).draw(), 80))
    for each in drawn:
        changed = [bool(region.changed.any()) for region in each.pack.regions]
        assert changed == [each.edited] + [False] * (len(changed) - 1)
    assert 0.5 < sum(each.edited for each in drawn) / len(drawn) < 0.9
    still = [region for each in drawn for region in each.pack.regions if not region.changed.any()]
    assert 0.3 < len(still) / sum(len(each.pack.regions) for each in drawn) < 0.7


def test_the_same_seed_draws_the_same(vocabulary, histories):
    first, second = (list(islice(Deck(histories / "train.jsonl", vocabulary, 3).draw(), 20)) for _ in range(2))
    assert [each.at for each in first] == [each.at for each in second]
    assert all((one.pack.rows.ids == other.pack.rows.ids).all() for one, other in zip(first, second, strict=True))


def test_hard_examples_come_more_often(vocabulary, histories):
    deck = Deck(histories / "train.jsonl", vocabulary, 0)
    drawn, hard = deck.draw(), next(iter(deck.draw()))
    for number in range(LEAST_RECENT):
        deck.learned(hard, float(number))
    before = [each.at for each in islice(drawn, 80)].count(hard.at)
    for _ in range(10):
        deck.learned(hard, 0.8 * LEAST_RECENT)  # hard, but not hopeless
    assert [each.at for each in islice(drawn, 80)].count(hard.at) > before + 1


def test_a_run_goes_on_where_it_stopped(vocabulary, histories, tmp_path, capsys):
    first = train(vocabulary, histories, tmp_path / "run", 8)
    assert first.seen == 8
    assert any(each.any() for name, each in first.weights.items() if name.endswith("up"))
    assert any((each != first.mean[name]).any() for name, each in first.weights.items())
    (tmp_path / "run" / "last.pt.part").write_bytes(b"the process was killed while it saved")
    again = opened(vocabulary, histories, tmp_path / "run")
    assert again.seen == 8
    for name, tensor in again.weights.items():
        assert (tensor == first.weights[name]).all()
        assert (again.mean[name] == first.mean[name]).all()
        assert again.optimiser.state[tensor]["step"] == 2
    assert train(vocabulary, histories, tmp_path / "run", 16).seen == 16
    assert "8 examples seen" in capsys.readouterr().out
    logged = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [each["seen"] for each in logged] == [8, 16]


def test_a_run_that_is_told_to_stop_saves_and_does_not_evaluate(vocabulary, histories, tmp_path):
    assert train(vocabulary, histories, tmp_path / "run", 8, stopping=[15]).seen == 0
    assert (tmp_path / "run" / "last.pt").is_file()
    assert not (tmp_path / "run" / "log.jsonl").exists()


def test_a_checkpoint_without_a_task_is_one_of_next_edits(vocabulary, histories, tmp_path):
    first = train(vocabulary, histories, tmp_path / "run", 8)
    found = checkpoint.read(tmp_path / "run", "cpu")
    old = {name: found[name] for name in ("parameters", "optimiser", "mean", "steps", "seen")}
    for group in old["optimiser"]["param_groups"]:
        del group["pace"]
    checkpoint.write(tmp_path / "run", **old)
    again = train(vocabulary, histories, tmp_path / "run", 16)
    assert again.seen == 16
    assert any((each != first.weights[name]).any() for name, each in again.weights.items())


def test_a_folder_of_another_task_is_refused(vocabulary, histories, tmp_path):
    train(vocabulary, histories, tmp_path / "run", 4)
    checkpoint.write(tmp_path / "run", **checkpoint.read(tmp_path / "run", "cpu") | {"task": "holes"})
    with pytest.raises(TrainingError, match="a run of holes"):
        opened(vocabulary, histories, tmp_path / "run")


def test_a_damaged_checkpoint_is_named(vocabulary, histories, tmp_path):
    (tmp_path / "last.pt").write_bytes(b"something else")
    with pytest.raises(TrainingError, match=r"last\.pt cannot be read"):
        opened(vocabulary, histories, tmp_path)


def test_gradients_that_are_not_finite_change_nothing_and_end_a_run(vocabulary, histories, tmp_path, monkeypatch):
    run = opened(vocabulary, histories, tmp_path)
    learn = run.task.learn

    def broken(weights, item):
        gradients, scores = learn(weights, item)
        return [each * torch.nan for each in gradients], scores

    monkeypatch.setattr(run.task, "learn", broken)
    before = {name: each.clone() for name, each in run.weights.items()}
    with ThreadPoolExecutor(1) as pool, pytest.raises(TrainingError, match="no finite gradient"):
        run.train(pool, Settings(tmp_path, 1.0, 4 * MOST_SKIPPED, 1e-2, 1, 10.0), [])
    assert all(torch.equal(each, before[name]) for name, each in run.weights.items())


def test_the_rate_rises_and_falls():
    rates = [rate_at(share, 1.0) for share in (0.0, WARMUP / 2, WARMUP, 0.5 + WARMUP / 2, 1.0, 1.2)]
    assert rates == pytest.approx([0.01, 0.5, 1.0, 0.51, 0.02, 0.02])

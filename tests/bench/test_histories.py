"""Examples of next edits from a real repository, and how proposals for them are scored."""

import json
import subprocess
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from bench.edits.__main__ import measured
from bench.edits.histories import measuring
from bench.edits.histories.commits import Hunk, commits, lines_of, made
from bench.edits.histories.examples import earlier_texts, examples
from bench.edits.histories.model_fitting import fit_rows, print_thresholds
from bench.edits.histories.repositories import SPLITS, Repository, repositories
from bench.edits.histories.sampling import sample, sample_elsewhere
from bench.edits.histories.systems import edited_texts, propose, question
from infill_engine.edits.by_model.regions import regions
from infill_engine.edits.changes import make
from infill_engine.edits.types import Edit, Kind, Proposal, Span

MIT = "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy\n"
BEFORE = "a = one(1)\nb = one(2)\n\n\ndef f(x):\n    y = one(x)\n    return y\n\n\nprint('done')\n"
AFTER = "a = two(1)\nb = two(2)\n\n\ndef f(x):\n    # now\n    y = two(x)\n    return y\n\n\nprint('ready')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "owner+name"
    work.mkdir()
    run = ["git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*run, "init", "-q"], check=True)
    for text in (BEFORE, AFTER):
        (work / "LICENSE").write_text(MIT)
        (work / "a.py").write_text(text)
        (work / "notes.txt").write_text(text)
        subprocess.run([*run, "add", "-A"], check=True)
        subprocess.run([*run, "commit", "-qm", "change"], check=True)
    return tmp_path


def test_a_commit_is_read_as_hunks_that_lead_from_text_to_text(folder: Path) -> None:
    (repository,) = repositories(folder)
    assert (repository.name, repository.licence) == ("owner/name", "MIT")
    (commit,) = commits(repository.folder, ["python"])
    (file,) = commit.files  # neither the notes nor the licence
    text = file.text
    for hunk in file.hunks:
        text = made(text, hunk)
    assert (file.text, text) == (BEFORE, AFTER)
    assert [hunk.old for hunk in file.hunks[:2]] == ["a = one(1)\n", "b = one(2)\n"]  # similar lines one by one


@pytest.mark.parametrize("number", range(8))
def test_an_example_is_a_text_on_the_way_and_the_edit_that_came_next(folder: Path, number: int) -> None:
    for example in _examples(folder, str(number)):
        *_, first = [example["text"], *earlier_texts(example)]
        assert first == BEFORE
        text = example["text"]
        for hunk in example["rest"]:
            text = made(text, Hunk(**hunk))
        assert text == AFTER or example["kind"] == "reverted"
        for edited in edited_texts(example):
            assert make(edited.before, edited.changes) == edited.after == example["text"]
        if example["kind"] == "edit":
            region, lines = example["region"], lines_of(example["text"])
            assert "".join(lines[region["first"] : region["last"]]) == region["before"] != region["after"]
        else:
            assert example["region"] is None


def test_a_licence_that_is_not_permissive_excludes_a_repository(folder: Path) -> None:
    (folder / "owner+name" / "LICENSE").write_text("GNU GENERAL PUBLIC LICENSE\nVersion 3\n")
    run = ["git", "-C", str(folder / "owner+name"), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*run, "commit", "-qam", "licence"], check=True)
    assert [repository.licence for repository in repositories(folder)] == [""]


def test_the_split_depends_on_the_name_alone() -> None:
    splits = [Repository(f"owner/name{number}", Path(), "MIT").split for number in range(2000)]
    shares = [splits.count(name) / 2000 for name in SPLITS]
    assert shares == pytest.approx([0.7, 0.15, 0.15], abs=0.03)
    assert splits == [Repository(f"Owner/Name{number}", Path("x"), "").split for number in range(2000)]


def test_what_is_proposed_is_compared_with_what_is_still_to_come() -> None:
    text = "a = one(1)\nb = one(2)\nc = 3\n"
    rest = [Hunk(0, "a = one(1)\n", "# first\na = two(1)\n"), Hunk(2, "b = one(2)\n", "b = two(2)\n")]

    def judged(old: str, new: str) -> dict[str, Any]:
        at = text.index(old)
        return measuring.judged(text, rest, [Edit(Span(at, at + len(old), old), new)])

    right, part, elsewhere = judged("one(2)", "two(2)"), judged("one(1)", "two(1)"), judged("c = 3", "c = 4")
    assert (right["exact"], right["touches"], right["chrf"]) == (True, True, 100)
    assert (part["exact"], part["touches"], elsewhere["touches"]) == (False, True, False)
    assert elsewhere["chrf"] < part["chrf"] < 100


def test_chrf() -> None:
    assert measuring.chrf("a = b\n", "a=b") == 100
    assert measuring.chrf("", "a") == measuring.chrf("a", "") == measuring.chrf("abc", "xyz") == 0
    assert 0 < measuring.chrf("return value", "return values") < 100


def test_examples_are_drawn_measured_and_summed_up(folder: Path, tmp_path: Path) -> None:
    found = [
        {"repository": "owner/name", "commit": "1", **example}
        for number in range(8)
        for example in _examples(folder, str(number))
    ]
    path = tmp_path / "held-out.jsonl"
    path.write_text("".join(json.dumps(example) + "\n" for example in found))
    drawn = sample(path, 3, seed=1)
    assert [example["kind"] == "edit" for example in drawn] == [True, False] * 3
    reckless = Proposal((Edit(Span(0, 0, ""), "x"),), "", 1.0, Kind.SIMILAR_PLACE)
    summary = measuring.summarise(list(measuring.measure(drawn, lambda _: [reckless])))
    assert (summary["shown"], summary["exact"], summary["quiet"]) == (1, 0, 0)
    assert measuring.summarise(list(measuring.measure(drawn, propose)))["reversals"] == 0


def test_examples_elsewhere_are_of_files_that_have_not_been_edited(tmp_path: Path) -> None:
    edit = {"path": "a.py", "row": 0, "old": "read(x)\n", "new": "load(x)\n", "above": "", "below": ""}
    common = {"repository": "owner/name", "commit": "1", "language": "python", "history": [edit]}
    found = [
        {**common, "path": "b.py", "text": "read(y)\n", "kind": "edit"},
        {**common, "path": "a.py", "text": "load(x)\n", "kind": "edit"},
        {**common, "path": "a.py", "text": "load(x)\n", "kind": "finished"},
    ]
    path = tmp_path / "held-out.jsonl"
    path.write_text("".join(json.dumps({**example, "rest": []}) + "\n" for example in found))
    drawn = sample_elsewhere(path, 3, seed=1)
    assert [(one["kind"], one["path"], one["text"]) for one in drawn] == [
        ("finished", "b.py", "read(y)\n"),
        ("edit", "b.py", "read(y)\n"),
    ]
    for example in drawn:
        assert [(one.before, one.changes) for one in edited_texts(example)] == [(example["text"], ())]


def test_a_stopped_run_goes_on(folder: Path, tmp_path: Path) -> None:
    examples = [{"repository": "owner/name", "commit": "1", **example} for example in _examples(folder, "0")]
    asked: list[str] = []

    def system(example: dict[str, Any]) -> list[Proposal]:
        asked.append(example["kind"])
        if len(asked) == 2:
            raise KeyboardInterrupt
        return []

    options = Namespace(
        out=tmp_path / "rows.jsonl", split="held-out", elsewhere=False, model="", budget=2000, each=3, seed=1
    )
    with pytest.raises(KeyboardInterrupt):
        measured(examples, system, options)
    assert len(measured(examples, system, options)) == len(examples) == len(asked) - 1
    assert [path.name for path in tmp_path.glob("rows*")] == ["rows.jsonl"]


@pytest.mark.parametrize("kind", ["edit", "finished"])
def test_the_model_is_asked_with_the_history_of_the_example(folder: Path, kind: str) -> None:
    example = next(one for one in _examples(folder, "3") if one["kind"] == kind)
    newest = example["history"][-1]["new"].splitlines()
    for number, region in enumerate(regions(question(example))):
        assert [edit.new for edit in region.history] == [edit["new"] for edit in example["history"]]
        assert example["text"].startswith("".join(f"{line}\n" for line in region.lines), region.start)
        assert list(region.lines[slice(*region.fixed)]) == ([] if number else newest)


def test_weights_tell_right_from_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    def row(kind: str, sure: float) -> dict[str, Any]:
        right = kind == "edit" and sure > 0
        change = {
            "region": 0,
            "features": {"constant": 1.0, "sure": sure},
            "exact": right,
            "touches": right,
            "chrf": 50.0,
        }
        return {"kind": kind, "rows": [change]}

    rows = [row("edit", 1.0)] * 20 + [row("finished", -1.0)] * 20 + [row("edit", -1.0)] * 5
    weights = fit_rows(rows)
    assert weights["sure"] > 1
    print_thresholds([*rows, {"kind": "finished", "rows": []}], weights)
    assert "0.50 0.800 20 20 50.0 1.000" in capsys.readouterr().out


def _examples(folder: Path, seed: str) -> list[dict[str, Any]]:
    (repository,) = repositories(folder)
    (commit,) = commits(repository.folder, ["python"])
    return list(examples(type(commit)(seed, commit.files)))

"""A corpus of several languages: what enters it, how much of each package, and what never does."""

import json
import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from bench.quality.problems.fetch_languages import LISTS
from bench.quality.problems.fetch_languages import listed as listed_for_measuring
from infill_engine.text.languages import Support, all_entries
from train.corpus.build import Listed, build, largest_share, listed, main
from train.corpus.leaks import HeldOut
from train.corpus.sources import NEVER_TRAINED

Publish = Callable[[str, dict[str, str]], None]


def _go(name: str, lines: int = 20) -> str:
    return "package a\n\n" + "".join(
        f"var {name}{line} = compute{name}(value{line}, {line})\n" for line in range(lines)
    )


@pytest.fixture
def publish(tmp_path: Path) -> Publish:
    """Puts a package where a download would."""

    def put(name: str, files: dict[str, str]) -> None:
        folder = tmp_path / "packages" / "npm" / name
        folder.mkdir(parents=True)
        with tarfile.open(folder / f"{name}-1.0.tgz", "w:gz") as tar:
            for path, text in files.items():
                member = tarfile.TarInfo(f"package/{path}")
                member.size = len(text.encode())
                tar.addfile(member, BytesIO(text.encode()))

    return put


def test_what_a_corpus_takes(tmp_path: Path, publish: Publish, capsys: pytest.CaptureFixture[str]) -> None:
    held_out = _go("Secret")
    publish(
        "good", {"package.json": '{"license": "MIT"}', "a.go": _go("A"), "b.go": held_out, "c.go": _go("A"), "d.py": ""}
    )
    publish("bad", {"package.json": '{"license": "GPL-3.0"}', "a.go": _go("B")})
    packages = [Listed("go", "npm", "good"), Listed("go", "npm", "bad")]
    build(packages, tmp_path, held_out=HeldOut([held_out]), characters=10_000)
    lines = [json.loads(line) for line in (tmp_path / "corpus.jsonl").read_text().splitlines()]
    assert lines == [{"package": "good", "path": "package/a.go", "language": "go", "text": _go("A")}]
    good, bad = json.loads((tmp_path / "manifest.json").read_text())
    assert (good["files"], good["copies"], good["held_out_files"], good["licence"]) == (1, 1, 1, "MIT")
    assert bad["left_out"] == "no usable file under a permissive licence"
    assert "1 packages" in capsys.readouterr().out


def test_a_package_that_is_not_to_be_had_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("train.corpus.packages.COMMANDS", {"npm": ["sh", "-c", "echo not found >&2; exit 1"]})
    build([Listed("go", "npm", "gone")], tmp_path, held_out=HeldOut([]), characters=1000)
    assert json.loads((tmp_path / "manifest.json").read_text())[0]["left_out"] == "not found"


@pytest.mark.parametrize(
    ("sizes", "total", "share"),
    [([], 10, 0), ([1, 2], 10, 2), ([10, 10], 10, 5), ([1, 10, 10], 11, 5), ([1, 1, 100], 12, 10)],
)
def test_large_packages_share_what_small_ones_leave(sizes: list[int], total: int, share: int) -> None:
    assert largest_share(sizes, total) == share
    assert sum(min(size, share) for size in sizes) <= total


def test_no_package_serves_two_ends() -> None:
    """A package is trained on, calibrated with, or reported on."""
    trained = {package.name for package in listed()}
    measured = {
        name: {
            package for kinds in listed_for_measuring(name).values() for names in kinds.values() for package in names
        }
        for name in LISTS
    }
    assert not trained & (measured["held-out"] | measured["calibration"])
    assert not measured["held-out"] & measured["calibration"]
    assert not {name.replace("-", "_") for name in trained} & NEVER_TRAINED


def test_every_language_with_full_support_is_in_every_list() -> None:
    first = {entry.id for entry in all_entries() if entry.support is Support.FIRST} - {"javascriptreact"}
    assert {package.language for package in listed()} == first  # JSX is learned with TypeScript's
    for name in LISTS.keys() - {"next-edits"}:  # JavaScript and TypeScript have a judge of their own
        packages = listed_for_measuring(name)
        assert set(packages) == first
        assert all(sum(map(len, kinds.values())) >= 2 for kinds in packages.values())


def test_without_held_out_text_nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["build", "--out", str(tmp_path), "--held-out", str(tmp_path)])
    with pytest.raises(SystemExit, match="copies of held-out files would be learned"):
        main()

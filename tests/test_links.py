"""Every relative link in the Markdown files leads to a file, and to a heading that exists."""

import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
FENCED = re.compile(r"^ *(```|~~~).*?^ *\1", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(\s*<?([^()\s>]+)>?\s*\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")  # a URL's scheme


def markdown_files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        text=True,
    )
    return [name for name in listed.stdout.splitlines() if (REPOSITORY / name).is_file()]


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to a text's headings."""
    found: set[str] = set()
    for title in re.findall(r"^#{1,6} +(.+?) *#* *$", FENCED.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while (unique := f"{anchor}-{number}" if number else anchor) in found:
            number += 1
        found.add(unique)
    return found


def broken_links(file: Path) -> list[str]:
    text = file.read_text(encoding="utf-8")
    prose = re.sub(r"`[^`\n]+`", "`", FENCED.sub("", text))
    broken = []
    for target in LINK.findall(prose):
        if ELSEWHERE.match(target):
            continue
        path, _, anchor = target.partition("#")
        place = (file.parent / path).resolve() if path else file
        if not place.exists() or (
            anchor and (place.suffix != ".md" or anchor not in anchors(place.read_text(encoding="utf-8")))
        ):
            broken.append(target)
    return broken


@pytest.mark.parametrize("name", markdown_files())
def test_links_lead_somewhere(name: str) -> None:
    assert broken_links(REPOSITORY / name) == []


@pytest.mark.parametrize(
    ("link", "is_broken"),
    [
        ("[a](other.md)", False),
        ("[a](other.md#two-words-here)", False),
        ("[a](#here)", False),
        ("[`a` and b](other.md#code)", False),
        ("[![picture](picture.png)](other.md)", True),
        ("[a](missing.md)", True),
        ("[a](other.md#missing)", True),
        ("[a](#missing)", True),
        ("[a](https://example.com/missing.md)", False),
        ("`[a](missing.md)`", False),
        ("```\n[a](missing.md)\n```", False),
        ("text\n[a\nb](missing.md)", True),
    ],
)
def test_broken_links_are_found(link: str, is_broken: bool, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Two words, here\n\n## `code`\n", encoding="utf-8")
    file = tmp_path / "page.md"
    file.write_text(f"# Here\n\n{link}\n", encoding="utf-8")
    assert bool(broken_links(file)) == is_broken

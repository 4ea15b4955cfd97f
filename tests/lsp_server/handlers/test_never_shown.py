"""What no editor gets: text for files that hold secrets, single keys that nobody asked for, marks that hide code."""

from pathlib import Path

import pytest
from editor import INVOKED, Editor

SCRIPT = {
    "rules": [
        {"before": "TOKEN=", "candidates": ["abc123"]},
        {"before": "return a +", "candidates": [" b"]},
        {"before": "return c + ", "candidates": ["dx"]},
        {"before": "items.append", "candidates": ["(1) #"]},
        {"before": "items.insert", "candidates": ["(0, x)", "(1) #"]},
        {"before": "query(", "candidates": ["a) --"]},
        {"before": "for ", "candidates": ["_, x := range xs {", "x in xs {", "x in xs do"]},
        {"before": "let ", "candidates": ["y {"]},
        {"before": "greet(", "candidates": ["prивет", "привет"]},
    ]
}
SECRET_FILES = [
    "prod.env",
    ".envrc",
    ".ENV",
    ".git-credentials",
    "terraform.tfvars",
    "terraform.tfstate",
    "service-account.json",
    ".docker/config.json",
    ".kube/config",
    ".Renviron",
    ".my.cnf",
    "keys.jks",
]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("name", SECRET_FILES)
async def test_files_that_hold_secrets(neovim: Editor, name: str) -> None:
    uri = neovim.open("API_TOKEN=│\n", f"file:///project/{name}", "plaintext")
    assert await neovim.ask(uri) == []
    assert await neovim.ask(uri, kind=INVOKED) == []
    answer = await neovim.candidates(uri)
    assert (answer.candidates, answer.reason) == ([], "excluded")


async def test_a_link_to_one(neovim: Editor, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("API_TOKEN=\n")
    (tmp_path / "settings.txt").symlink_to(".env")
    uri = neovim.open("API_TOKEN=│\n", (tmp_path / "settings.txt").as_uri(), "plaintext")
    assert await neovim.ask(uri, kind=INVOKED) == []
    assert (await neovim.status()).reason == "excluded"


async def test_a_single_key_after_a_blank(neovim: Editor) -> None:
    uri = neovim.open("def f(a, b):\n    return a │\n")
    neovim.type(uri, "+")
    assert await neovim.ask(uri) == []
    neovim.type(uri, " ")
    assert await neovim.ask(uri) == []
    assert (await neovim.status()).reason == "one_key"
    assert await neovim.ask(uri, kind=INVOKED) == ["b"]


async def test_the_last_key_of_what_is_shown(neovim: Editor) -> None:
    uri = neovim.open("def f(c, dx):\n    return c +│\n")
    neovim.type(uri, " ")
    assert await neovim.ask(uri) == ["dx"]
    neovim.type(uri, "d")
    assert await neovim.ask(uri) == ["x"]


@pytest.mark.parametrize(
    ("marked", "language", "shown"),
    [
        ("items = []\nitems.append│(3)\n", "python", []),
        ("items = []\nitems.insert│\n", "python", ["(0, x)"]),
        ("query(│ b\n", "sql", []),
        ("greet(│)\n", "python", ["привет"]),
    ],
)
async def test_text_that_nobody_wants(neovim: Editor, marked: str, language: str, shown: list[str]) -> None:
    uri = neovim.open(marked, language=language)
    texts = await neovim.ask(uri, kind=INVOKED)
    assert texts is not None
    assert [text for text in texts if text.rstrip().endswith(("#", "--")) or "prи" in text] == []
    assert [text for text in shown if text not in texts] == []


@pytest.mark.parametrize(
    ("marked", "language", "shown"),
    [
        ("func f(xs []int) {\n\tfor │\n}\n", "go", "_, x := range xs"),
        ("fn f(xs: &[i32]) {\n    for │\n}\n", "rust", "x in xs"),
        ("function f(xs)\n  for │\nend\n", "lua", "x in xs"),
        ("fn f() {\n    let │\n}\n", "rust", "y"),
    ],
)
async def test_no_body_without_anything_in_it_unasked(neovim: Editor, marked: str, language: str, shown: str) -> None:
    uri = neovim.open(marked, language=language)
    texts = await neovim.ask(uri)
    assert (texts or [""])[0].startswith(shown) or shown == "y"
    assert [text for text in texts or [] if "\n" in text] == []
    assert [text for text in await neovim.ask(uri, kind=INVOKED) or [] if "\n" in text] != []

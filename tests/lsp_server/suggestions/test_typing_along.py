"""What is shown stays while it is typed, whatever the model says meanwhile. │ is the cursor."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from capabilities import NEOVIM
from editor import INVOKED, Editor, editor

SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2)"]},
        {"before": "x = alp", "candidates": ["ine", "hanumeric()"]},
        {"before": "x = alpha(1", "candidates": [")\n"]},
        {"before": "():\n    ", "candidates": ["one = 1\n    return one"]},
        {"before": "():\r\n    ", "candidates": ["one = 1\n    return one"]},
        {"before": "one = 1\n    ret", "candidates": ["ract()"]},
        {"before": "'😀' + ", "candidates": ["'é' + é"]},
        {"before": "'😀' + 'é", "candidates": ["']"]},
    ]
}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def window() -> AsyncIterator[Editor]:
    async with editor(NEOVIM, SCRIPT, options={"budgetMs": 5000, "showThreshold": 0}) as made:
        await made.ready()
        yield made


@pytest.mark.parametrize(
    ("marked", "text", "newline"),
    [
        ("x = │\nrest()\n", "alpha(1)", "\n"),
        ("x = │", "beta(2)", "\n"),  # another one than the first
        ("s = '😀' + │\n", "'é' + é", "\n"),
        ("def f():\n    │\n\n\nf()\n", "one = 1\n    return one", "\n"),
        ("def f():\r\n    │\r\n\r\n\r\nf()\r\n", "one = 1\n    return one", "\r\n"),
    ],
)
async def test_it_stays(window: Editor, marked: str, text: str, newline: str) -> None:
    uri = window.open(marked, f"file:///project/{abs(hash(marked + text))}.py")
    assert text in (await window.ask(uri) or [])
    window.texts[uri] = marked.replace("\r\n", "\n")
    for typed in range(1, len(text)):
        key = text[typed - 1]
        window.type(uri, newline if key == "\n" else key)
        window.texts[uri] = window.texts[uri].replace("\r\n", "\n")  # for counting rows
        for _ in range(2):  # also when it is asked for again
            shown = await window.ask(uri)
            assert shown is not None
            assert shown[0].startswith(text[typed:]), (text[:typed], shown)
        assert (await window.ask(uri, kind=INVOKED) or [""])[0].startswith(text[typed:])
    window.close_all()


async def test_it_goes_as_soon_as_something_else_is_typed(window: Editor) -> None:
    uri = window.open("x = │\n")
    assert await window.ask(uri) == ["alpha(1)", "beta(2)"]
    for key, shown in (("a", "lpha(1)"), ("l", "pha(1)"), ("p", "ha(1)")):
        window.type(uri, key)
        assert (await window.ask(uri) or [""])[0] == shown
    window.type(uri, "i")
    assert "ha(1)" not in (await window.ask(uri) or [])
    window.close_all()

"""infill/lateAnswer over real stdio: the engine is too slow for the deadline, and says later what it has found."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from capabilities import NEOVIM
from editor import INVOKED, Editor, editor

TAKES_LATE = {**NEOVIM, "experimental": {"infillLateAnswers": True}}
SLOW = {"rules": [{"before": "x = ", "candidates": ["alpha(1)"]}], "step_ms": 1_000}
LONG = 3.0  # seconds: later than any late answer


@contextlib.asynccontextmanager
async def started(
    script: dict[str, Any] = SLOW, capabilities: dict[str, Any] = TAKES_LATE, **settings: Any
) -> AsyncIterator[tuple[Editor, list[Any]]]:
    """An editor, and what it was told."""
    told: list[Any] = []
    options = {"budgetMs": 120, "showThreshold": 0, **settings}
    async with editor(capabilities, script, options=options) as made:
        made.client.feature("infill/lateAnswer")(lambda params: told.append(params))
        await made.ready()
        yield made, told


@pytest.mark.parametrize("kind", [{}, {"kind": INVOKED}])
async def test_what_is_found_after_the_deadline_is_told_and_given_when_asked_again(kind: dict[str, Any]) -> None:
    async with started() as (made, told):
        uri = made.open("a\nx =│")
        made.type(uri, " ")
        assert await made.ask(uri, **kind) == []
        assert made.statuses[-1].reason == "deadline"
        await made.until(lambda: told)
        assert (told[0].uri, told[0].version) == (uri, 3)
        assert (told[0].position.line, told[0].position.character) == (1, 4)
        assert await made.ask(uri) == ["alpha(1)"]
        made.type(uri, "alpha(1)")
        await made.ask(uri)
        counts = await made.leave()
        assert (counts["shownLate"], counts["acceptedLate"]) == (1, 1)
        assert (counts["shown"], counts["accepted"]) == (1, 1)


async def test_an_explicit_request_after_a_deletion_is_answered_late() -> None:
    async with started(showThreshold=1) as (made, told):
        uri = made.open("x = a│")
        made.type(uri, "", delete_left=1)
        assert await made.ask(uri, kind=INVOKED) == []
        await made.until(lambda: told)
        assert await made.ask(uri) == ["alpha(1)"]


@pytest.mark.parametrize(
    ("settings", "capabilities"),
    [({"lateAnswers": False}, TAKES_LATE), ({}, NEOVIM), ({"showThreshold": 1}, TAKES_LATE)],
)
async def test_nothing_is_told_to_those_who_do_not_want_it_or_where_it_would_not_be_shown(
    settings: dict[str, Any], capabilities: dict[str, Any]
) -> None:
    async with started(capabilities=capabilities, **settings) as (made, told):
        uri = made.open("x =│")
        made.type(uri, " ")
        assert await made.ask(uri) == []
        await asyncio.sleep(LONG)
        assert told == []


async def test_nothing_is_told_of_a_text_that_has_changed() -> None:
    async with started() as (made, told):
        uri = made.open("x =│")
        made.type(uri, " ")
        assert await made.ask(uri) == []
        made.type(uri, "", delete_left=1)
        await asyncio.sleep(LONG)
        assert told == []

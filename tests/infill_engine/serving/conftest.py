"""A dispatch with a loaded engine that computes until the test lets it finish."""

from collections.abc import Iterator

import pytest
from held_engine import WAIT, Bench

from infill_engine.serving.protocol import State


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    assert made.statuses() == [State.LOADING, State.READY]
    yield made
    made.dispatch.close()
    made.thread.join(WAIT)
    assert not made.thread.is_alive()

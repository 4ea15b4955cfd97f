"""Which engine takes over if the chosen one cannot be loaded, and how its status is worded."""

import pytest

from infill_engine.serving.protocol import State, Status
from lsp_server.engine_client.model_choice import as_shown, successor
from lsp_server.settings.schema import EngineChoice, Precision

DEFAULT = EngineChoice()


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        (EngineChoice(), None),
        (EngineChoice(model="some/model"), DEFAULT),
        (EngineChoice(device="cuda"), DEFAULT),
        (EngineChoice(precision=Precision.FP32), DEFAULT),
    ],
)
def test_the_default_engine_takes_over(failed: EngineChoice, expected: EngineChoice | None) -> None:
    assert successor(failed) == expected


def test_the_status_says_that_the_model_is_too_slow_for_a_keystroke() -> None:
    status = Status(State.READY, "int8", model="default", device="cpu", least_ms=154.0)
    assert "int8; too slow for 150 ms on this machine" in as_shown(status, DEFAULT, 150).detail
    assert as_shown(status, DEFAULT, 200) == status

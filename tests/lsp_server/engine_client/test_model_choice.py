"""Which engine takes over if the chosen one cannot be loaded."""

import pytest

from lsp_server.engine_client.model_choice import successor
from lsp_server.settings.schema import EngineChoice, Precision

DEFAULT = EngineChoice(usual_budget_ms=200)


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
    assert successor(failed, 200) == expected

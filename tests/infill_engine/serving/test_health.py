"""When a process is probed and when it should be replaced, on clocks that stand still."""

from collections.abc import Callable

import pytest

from infill_engine.serving.health.health import Health, HealthSettings, probe
from infill_engine.serving.health.probe import Probe, measure
from tests.toy_engine import ToyEngine

MEGABYTE = 1 << 20
SETTINGS = HealthSettings(every_seconds=60, quiet_seconds=3, slower=2, larger=2, in_a_row=3, rest_seconds=60)


class Watched:
    """The health of a process whose clock the test sets."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.health = Health(SETTINGS, lambda: self.seconds)

    def probe(self, cpu_ms: float = 10, wall_ms: float = 10, megabytes: int = 800) -> None:
        self.health.observe(Probe(cpu_ms, wall_ms, megabytes * MEGABYTE))


@pytest.mark.parametrize(
    ("cpu_ms", "megabytes", "reason"),
    [
        ([10, 10, 10, 10], 800, ""),
        ([10, 21, 21], 800, ""),
        ([10, 21, 21, 21], 800, "passes have become slower"),
        ([10, 21, 21, 19, 21], 800, ""),
        ([10, 10, 10, 10], 1599, ""),
        ([10, 10, 10, 10], 1601, "memory has grown"),
    ],
)
def test_the_reason_to_be_replaced(cpu_ms: list[float], megabytes: int, reason: str) -> None:
    process = Watched()
    process.probe(cpu_ms[0])
    for each in cpu_ms[1:]:
        process.probe(each, megabytes=megabytes)
    assert process.health.reason() == reason


def test_a_small_process_may_double() -> None:
    process = Watched()
    process.probe(megabytes=100)
    for _ in range(3):
        process.probe(megabytes=600)
    assert process.health.reason() == ""
    for _ in range(3):
        process.probe(megabytes=613)
    assert process.health.reason() == "memory has grown"


def test_a_busy_machine_is_not_mistaken_for_drift() -> None:
    process = Watched()
    for wall_ms in (10, 400, 400, 400, 400):
        process.probe(cpu_ms=10, wall_ms=wall_ms)
    assert process.health.reason() == ""
    assert process.health.drift == 1.0


def test_probes_wait_for_a_quiet_moment() -> None:
    process = Watched()
    process.health.worked()
    assert process.health.seconds_to_probe() == 3
    process.seconds += 3
    assert process.health.seconds_to_probe() == 0
    process.probe()
    assert process.health.seconds_to_probe() == 60
    process.seconds += 59
    process.health.worked()
    assert process.health.seconds_to_probe() == 3


def test_a_process_is_not_replaced_before_it_has_rested() -> None:
    process = Watched()
    for cpu_ms in (10, 30, 30, 30):
        process.probe(cpu_ms)
    process.health.worked()
    process.seconds += 59
    assert process.health.reason() == ""
    process.seconds += 1
    assert process.health.reason() != ""


def test_another_model_is_compared_with_itself() -> None:
    process = Watched()
    for cpu_ms in (10, 30, 30):
        process.probe(cpu_ms)
    process.health.start_over()
    for _ in range(4):
        process.probe(30)
    assert process.health.reason() == ""


def test_the_fastest_of_a_few_passes_counts() -> None:
    seconds = iter(range(1000))
    cpu = iter([0.0, 0.050, 0.050, 0.060, 0.060, 0.080, 0.080, 0.100, 0.100, 0.200])
    found = measure(lambda: None, lambda: False, lambda: next(seconds) / 1000, lambda: next(cpu), lambda: 7)
    assert found is not None
    assert (round(found.cpu_ms), found.memory_bytes) == (10, 7)


def test_a_request_stops_a_probe() -> None:
    passes: list[int] = []
    assert measure(lambda: passes.append(1), lambda: bool(passes)) is None
    assert len(passes) == 1


def engine_with(one_pass: Callable[[], None] | None) -> ToyEngine:
    toy = ToyEngine()
    toy.probe = lambda: one_pass  # type: ignore[method-assign]
    return toy


def fails() -> None:
    raise ValueError("planted")


def test_what_cannot_be_probed_is_not_probed_again() -> None:
    health = Health(SETTINGS)
    probe(engine_with(None), health, lambda: False)
    assert health.seconds_to_probe() is None
    health = Health(SETTINGS)
    with pytest.raises(ValueError, match="planted"):
        probe(engine_with(fails), health, lambda: False)
    assert health.seconds_to_probe() is None
    health = Health(SETTINGS)
    probe(engine_with(lambda: None), health, lambda: False)
    assert health.seconds_to_probe() is not None

"""How many threads a pass uses, with a clock that the test sets."""

from collections.abc import Iterator

import pytest
import torch

from infill_engine.models.runtime.threads import SHORTEST_S, AdaptiveThreads

LAYERS = 10


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def kept_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def passed(threads: AdaptiveThreads, clock: Clock, *layer_ms: float) -> tuple[float, list[int]]:
    """One pass, whose layers take the given times in turn: its milliseconds, and torch's threads in each layer."""
    began, used = clock.now, []
    threads.begin(16)
    for layer in range(LAYERS):
        threads.check(layer / LAYERS)
        used.append(torch.get_num_threads())
        clock.now += layer_ms[layer % len(layer_ms)] / 1000
    took_ms = (clock.now - began) * 1000
    threads.observe(16, took_ms)
    return took_ms, used


def measured(counts: dict[int, float]) -> tuple[AdaptiveThreads, Clock]:
    """Threads with known milliseconds of a layer for each number."""
    clock = Clock()
    threads = AdaptiveThreads(list(counts), clock)
    for count, layer_ms in counts.items():
        threads.use(count)
        passed(threads, clock, layer_ms)
    threads.use_fastest(16)
    return threads, clock


def test_the_numbers_to_choose_from() -> None:
    assert AdaptiveThreads.up_to(12).counts == [12, 6, 3, 1]
    assert AdaptiveThreads.up_to(1).counts == [1]
    assert AdaptiveThreads.up_to(12, fixed=True).counts == [12]


def test_an_idle_machine_gets_all_threads() -> None:
    threads, clock = measured({2: 5.0, 1: 8.0})
    assert threads.predict_ms(16) == pytest.approx(50)
    assert passed(threads, clock, 5.0)[1] == [2] * LAYERS


def test_a_pass_that_loses_time_goes_on_with_fewer_threads() -> None:
    threads, clock = measured({2: 5.0, 1: 8.0})
    _, used = passed(threads, clock, 13.0)  # loses 8 ms in each layer; 15 are half of what two threads can save
    assert used == [2, 2] + [1] * 8
    assert threads.count == 1
    assert threads.predict_ms(16) == pytest.approx(80), "a pass with both numbers says nothing of either"


def test_one_interruption_does_not_matter() -> None:
    threads, clock = measured({2: 5.0, 1: 8.0})
    assert passed(threads, clock, 15.0, *[5.0] * 9)[1] == [2] * LAYERS


def test_fewer_and_fewer() -> None:
    threads, clock = measured({4: 4.0, 2: 6.0, 1: 10.0})
    _, used = passed(threads, clock, 30.0)
    assert used[0] == 4
    assert 2 in used
    assert used[-1] == 1


def test_all_threads_are_tried_again_later_and_less_often_each_time() -> None:
    threads, clock = measured({2: 5.0, 1: 8.0})
    for wait_s in (SHORTEST_S, 2 * SHORTEST_S):
        passed(threads, clock, 13.0)
        clock.now += 0.7 * wait_s
        threads.retry()
        assert threads.count == 1
        clock.now += 0.4 * wait_s
        threads.retry()
        assert threads.count == 2


def test_slower_with_all_threads_even_when_idle() -> None:
    threads, clock = measured({4: 9.0, 2: 6.0, 1: 10.0})
    assert threads.count == 2
    clock.now += 60
    threads.retry()
    assert passed(threads, clock, 9.0)[1] == [4] * LAYERS
    assert threads.count == 2


def test_the_best_time_on_an_idle_machine_is_kept_while_it_is_busy() -> None:
    threads, clock = measured({2: 5.0, 1: 8.0})
    for _ in range(20):
        passed(threads, clock, 16.0)
    assert threads.count == 1
    assert threads.predict_ms(16) == pytest.approx(160, rel=0.1)
    assert threads.best_ms(16) == pytest.approx(50)


def test_a_probe_uses_one_thread_and_changes_nothing() -> None:
    threads, clock = measured({4: 4.0, 2: 6.0, 1: 10.0})
    with threads.fewest():
        assert passed(threads, clock, 10.0)[1] == [1] * LAYERS
    assert threads.count == 4

"""Threads and precision of the default on a CPU: whatever is the fastest, of what is exact and wanted."""

from collections.abc import Callable, Iterator, Mapping

import pytest
import torch

from infill_engine.models.quantization.int8_kernels import Fbgemm, OneDnn, is_exact
from infill_engine.models.small import autotune as profile
from infill_engine.models.small.autotune import Profile, autotune

ALL = [Profile(threads, kernel) for threads in (1, 2) for kernel in (None, OneDnn, Fbgemm)]


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("fastest", ALL, ids=str)
def test_the_fastest_of_threads_and_precisions_is_taken(fastest: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(2)
    offered: list[Profile] = []

    def chosen(ways: Mapping[Profile, object]) -> Profile:
        offered.extend(ways)
        return fastest

    monkeypatch.setattr(profile, "quickest", chosen)
    assert (autotune(torch.float32), torch.get_num_threads()) == (fastest.kernel, fastest.threads)
    assert set(offered) == set(ALL)


@pytest.mark.usefixtures("exact")
def test_every_profile_runs_a_layer_with_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(2)
    used: list[int] = []

    def timed(ways: Mapping[Profile, Callable[[], torch.Tensor]]) -> Profile:
        for way, run in ways.items():
            assert run().shape[:2] == (1, profile.TOKENS)
            used.append(torch.get_num_threads() - way.threads)
        return next(iter(ways))

    monkeypatch.setattr(profile, "quickest", timed)
    autotune(torch.float32)
    assert used == [0] * len(ALL)


def test_a_processor_that_overflows_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_exact(OneDnn):
        pytest.skip("this processor overflows by itself")
    assert autotune(torch.float32, [OneDnn]) is OneDnn
    exact: Callable[[OneDnn, torch.Tensor], torch.Tensor] = OneDnn._rounded_product
    monkeypatch.setattr(OneDnn, "_rounded_product", lambda kernel, x: exact(kernel, x).clamp(max=2**15 - 1))
    assert autotune(torch.float32, [OneDnn]) is None


def test_a_number_of_threads_that_is_wanted_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFILL_THREADS", "2")
    torch.set_num_threads(2)
    autotune(torch.float32)
    assert torch.get_num_threads() == 2


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """All kernels pass for exact. On processors without VNNI, some are not."""
    monkeypatch.setattr(profile, "is_exact", lambda kernel: True)


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No number of threads is wanted from outside, and torch's is put back."""
    monkeypatch.delenv("INFILL_THREADS", raising=False)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)

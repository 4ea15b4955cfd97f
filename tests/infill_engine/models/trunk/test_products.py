"""Products in int8: as near as rounding allows, each row by itself, and never larger than 16 bits where AVX2 adds."""

import numpy as np
import openvino as ov
import pytest
from openvino import opset15 as op

from infill_engine.models.trunk.products import (
    BY_PLUGIN,
    CODES,
    IN_GRAPH,
    LARGEST,
    Products,
    _fitted,
    choose_products,
    rounding_options,
)

both = pytest.mark.parametrize("products", [BY_PLUGIN, IN_GRAPH], ids=lambda each: each.name)


def multiply(products: Products, rows: np.ndarray, codes: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return rows [T, K] times a matrix [N, K]."""
    n, k = codes.shape
    x = op.parameter([-1, k], ov.Type.f32)
    product = products.leave(products.multiply(products.enter(x, k), codes, scales), n)
    found: np.ndarray = ov.Core().compile_model(ov.Model([product], [x]), "CPU", rounding_options(k))([rows])[0]
    return found


def matrix(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(4)
    return random.integers(-LARGEST, LARGEST, (n, k), np.int8, endpoint=True), np.full((n, 1), 0.01, np.float16)


@both
@pytest.mark.parametrize("count", [1, 4, 33])
def test_a_product_is_near_the_exact_one(products: Products, count: int) -> None:
    codes, scales = matrix(40, 96)
    rows = np.random.default_rng(count).standard_normal((count, 96), np.float32)
    exact = rows @ (codes * scales.astype(np.float32)).T
    assert np.linalg.norm(multiply(products, rows, codes, scales) - exact) < 0.015 * np.linalg.norm(exact)


@both
def test_a_row_does_not_depend_on_those_beside_it(products: Products) -> None:
    rows = np.random.default_rng(1).standard_normal((19, 96)) * np.logspace(-3, 3, 19)[:, None]
    rows = rows.astype(np.float32)
    together = multiply(products, rows, *matrix(40, 96))
    alone = np.concatenate([multiply(products, row[None], *matrix(40, 96)) for row in rows])
    assert (np.abs(alone - together).max(1) <= 1e-5 * np.abs(together).max(1)).all()


@both
def test_nothing_but_zeros_is_zero(products: Products) -> None:
    assert not multiply(products, np.zeros((3, 96), np.float32), *matrix(40, 96)).any()


@both
@pytest.mark.parametrize("row", [1.0, -1.0])
@pytest.mark.parametrize("code", [LARGEST, -LARGEST])
def test_the_largest_sums_do_not_overflow(products: Products, row: float, code: int) -> None:
    codes, scales = np.full((40, 384), code, np.int8), np.ones((40, 1), np.float16)
    product = multiply(products, np.full((3, 384), row, np.float32), codes, scales)
    np.testing.assert_allclose(product, np.full((3, 40), 384 * row * code), rtol=0.01)


def test_only_rows_that_could_overflow_get_smaller_codes() -> None:
    codes = np.array([[127, 1, -5, 3], [100, 90, 7, 0], [-127, 127, -64, -64], [-127, -127, 0, 1]], np.int8)
    fitted, scales = _fitted(codes, np.ones((4, 1), np.float16))
    np.testing.assert_array_equal(fitted[[0, 2]], codes[[0, 2]])
    pairs = np.abs(fitted.astype(int).reshape(4, 2, 2).sum(2)).max(1)
    assert (pairs * (CODES - 1) < 2**15).all()
    np.testing.assert_allclose(fitted * scales[:, None], codes, atol=1)


def test_the_same_products_are_chosen_each_time() -> None:
    assert len({choose_products().name for _ in range(3)}) == 1


def test_a_plugin_that_multiplies_floats_is_not_asked_to_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "AMD64")
    width = rounding_options(256)
    monkeypatch.setattr(
        "infill_engine.models.trunk.products.rounding_options",
        lambda _width: width | {"DYNAMIC_QUANTIZATION_GROUP_SIZE": 0},
    )
    assert choose_products() is IN_GRAPH

"""Passes are padded to forms: a changed number of rows plans nothing anew, and results stay the same."""

import numpy as np
import openvino as ov
import pytest
from test_backends import PROMPT, floats, one_of, openvino, rows_of, some_adapter, tiny_weights

from infill_engine.models.trunk.forms import FORMS, PassForm, form_for, forms_of
from infill_engine.models.trunk.prompt import Prompt
from infill_engine.models.trunk.slots import SUFFIX, TEXTS, text_rows


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return tiny_weights(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="module")
def int8(weights):
    return openvino(weights, some_adapter())


@pytest.mark.parametrize(
    ("rows", "masks", "expected"),
    [
        (1, 0, (8, 0)),
        (8, 0, (8, 0)),
        (9, 0, (16, 0)),
        (1, 1, (8, 14)),
        (8, 14, (8, 14)),
        (9, 1, (16, 14)),
        (16, 14, (16, 14)),
        (17, 0, (32, 0)),
        (32, 0, (32, 0)),
        (33, 0, (33, 0)),
        (17, 1, (17, 1)),
    ],
)
def test_the_cheapest_form_that_holds_a_pass(rows: int, masks: int, expected: tuple[int, int]) -> None:
    assert form_for(FORMS, rows, masks) == PassForm(*expected)


def test_without_a_denoiser_there_are_no_masks() -> None:
    assert [form.rows for form in forms_of(denoises=False)] == [8, 16, 32]


def texts(prompt: Prompt, count: int):
    slots = [*range(TEXTS, TEXTS + count)]
    tokens = [(7 * at) % 50 for at in range(count)]
    return text_rows(prompt, tokens, range(count), slots, [slots[:at] for at in range(count)])


def test_a_pass_of_any_size_predicts_what_floats_predict(weights, int8):
    backends = [(backend, backend.new_buffer()) for backend in (int8, floats(weights, some_adapter()))]
    for backend, buffer in backends:
        backend.run(buffer, rows_of(PROMPT), 0)
    for count in (1, 7, 8, 9, 16, 17, 32, 33, 70):
        for first in (0, 40):
            rows = texts(PROMPT, count)
            found = [backend.run(buffer, rows, min(first, count - 1)).logprobs for backend, buffer in backends]
            assert found[0].shape == found[1].shape
            assert np.abs(found[0] - found[1]).mean() < 0.1


def test_keys_that_were_changed_are_read_again(int8):
    """Two prompts in turn, copied slots, and rotated keys, after passes that have staged them."""
    found = []
    rows, other = rows_of(PROMPT), rows_of(Prompt((50, 8, 8), (50, 3), (50, 2, 6)))
    last = len(rows) - 1
    for keep_staged in (True, False):
        buffer, second = int8.new_buffer(), int8.new_buffer()

        def predict(where, which, at, keep_staged=keep_staged):
            if not keep_staged:  # a pass after another buffer stages everything
                int8.run(int8.new_buffer(), one_of(rows, 0), 0)
            return int8.run(where, one_of(which, at), 0).logprobs

        int8.run(buffer, rows, 0)
        int8.run(second, other, 0)
        steps = [predict(buffer, rows, last), predict(second, other, len(other) - 1), predict(buffer, rows, last)]
        int8.rotate(buffer, slice(SUFFIX, SUFFIX + 3), 4)
        steps.append(predict(buffer, rows, last))
        int8.copy(buffer, [SUFFIX + 1], SUFFIX)
        steps.append(predict(buffer, rows, last))
        int8.copy_from(buffer, second, slice(SUFFIX, SUFFIX + 2))
        steps.append(predict(buffer, rows, last))
        found.append(np.stack(steps))
    np.testing.assert_array_equal(*found)
    assert len({step.tobytes() for step in found[0]}) == len(found[0]) - 1  # each change was noticed


def test_a_changed_number_of_rows_plans_nothing_anew(int8, monkeypatch):
    """The plugin plans a branch again if a shape changes that is not fixed in it: here none does."""
    shapes, kept = set(), []
    buffer = int8.new_buffer()
    int8.run(buffer, rows_of(PROMPT), 0)
    set_tensor = ov.InferRequest.set_input_tensor
    names = {"ids": 1, "mask": 5}

    def recorded(request, place, tensor):
        if place in names.values():
            shapes.add((place, tuple(tensor.shape)))
        elif place > max(names.values()) + 3:
            kept.append(place)
        set_tensor(request, place, tensor)

    monkeypatch.setattr(ov.InferRequest, "set_input_tensor", recorded)
    for count in (1, 5, 12, 3, 16, 8, 2, 9, 7, 30, 4):
        int8.run(buffer, texts(PROMPT, count), 0)
    rows = {shape[0] for place, shape in shapes if place == names["ids"]}
    assert rows == {8, 16, 32}
    assert len(shapes) == 2 * len(rows)  # one number of keys
    assert not kept  # and the kept keys stay where they are

"""Shapes of lines, and where they are found again."""

from hypothesis import given
from hypothesis import strategies as st

from infill_engine.context.line_shapes import outline, shape_of

CODE = st.text(alphabet="ab1_ .=(\n\r\t\x0c\u2028é'", max_size=60)


def test_the_shape_of_code() -> None:
    assert shape_of("  if x_1 is None and y2 > 10.5:\n\n\t return é ") == "if n is None and n > 0.0:\nreturn n "


@given(CODE)
def test_each_line_has_its_own_shape(text: str) -> None:
    made = outline(text)
    shapes = made.shapes[1:].split("\n") if made.starts else []
    assert [shape_of(made.line(number)) for number in range(len(made.starts))] == shapes


@given(CODE)
def test_every_line_is_found_by_its_shape(text: str) -> None:
    made = outline(text)
    for number in range(len(made.starts)):
        shape = shape_of(made.line(number))
        forwards, backwards = (list(made.places(shape, backwards=way)) for way in (False, True))
        assert number in forwards
        assert forwards == backwards[::-1]

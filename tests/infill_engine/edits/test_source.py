import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from infill_engine.edits.changes import make
from infill_engine.edits.parsed_text import ParsedText, words
from infill_engine.edits.types import Change


@given(st.text("aé€🎉\n", max_size=40), st.integers(0, 40))
def test_offsets_of_the_tree_are_bytes(piece: str, at: int) -> None:
    text = piece * 40  # longer than what is counted at once
    source = ParsedText.parse(text, "python")
    assert source is not None
    for place in (min(at, len(text)), len(text) // 2, len(text)):
        byte = source.to_byte(place)
        assert byte == len(text[:place].encode())
        assert source.to_char(byte) == place


@given(st.integers(0, 20), st.integers(0, 6), st.sampled_from(["x", "", "é = 1\n", "(", "\n\n"]))
def test_a_changed_source_has_the_tree_of_its_text(at: int, length: int, new: str) -> None:
    before = "a = 'é'\ndef f(b):\n    return b\n"
    changes = (Change(at, min(at + length, len(before)), new),)
    after = make(before, changes)
    source = ParsedText.parse(before, "python")
    fresh = ParsedText.parse(after, "python")
    assert source is not None
    assert fresh is not None
    assert str(source.changed(after, changes).root) == str(fresh.root)


def test_words_are_whole() -> None:
    text = "a ab a.a $a a1 _a a"
    assert list(words(text, "a", "javascript")) == [0, 5, 7, 18]
    assert list(words(text, "a", "python")) == [0, 5, 7, 10, 18]


def test_parsing_keeps_nothing_of_a_text_that_is_gone() -> None:
    text = "total = total + 1\n" * 1000

    def parse() -> None:
        source = ParsedText.parse(text, "python")
        assert source is not None
        assert source.changed(f"x{text}", (Change(0, 0, "x"),)).root.text == f"x{text}".encode()

    parse()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            parse()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 2 * len(text)  # a copy of the text for each parse would be forty times that

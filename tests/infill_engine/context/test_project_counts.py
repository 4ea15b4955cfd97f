"""Texts around a document are counted piece by piece, and known by name once all of one is."""

from collections import deque
from math import exp, log

from infill_engine.context import project_counts as surroundings
from infill_engine.context.project_counts import KEPT, CountedSurroundings
from infill_engine.types import Surroundings

LINE = "abc\n"


def encode(text: str) -> list[int]:
    return list(text.encode())


def counted(*texts: str) -> CountedSurroundings:
    counts = CountedSurroundings(encode)
    for text in texts:
        deque(counts.count(Surroundings.of(text)), maxlen=0)
    return counts


def probability_of_c(counts: CountedSurroundings, text: str) -> float:
    found = counts.get(Surroundings.of(text).name)
    assert found
    return exp(found.logprob(encode("ab"), set(encode("c")), log(0.1)))


def test_what_follows_in_them_is_likelier() -> None:
    assert probability_of_c(counted(LINE * 9), LINE * 9) > 0.3
    assert probability_of_c(counted("abx\n" * 9), "abx\n" * 9) < 0.1


def test_line_ends_do_not_matter() -> None:
    windows = LINE.replace("\n", "\r\n") * 9
    assert probability_of_c(counted(windows), windows) == probability_of_c(counted(LINE * 9), LINE * 9)


def test_a_text_is_known_when_all_of_it_was_counted() -> None:
    counts = CountedSurroundings(encode)
    text = Surroundings.of(LINE * surroundings.PIECE_CHARS)
    pieces = counts.count(text)
    for _ in range(len(LINE)):
        next(pieces)
        assert counts.get(text.name) is None
    assert list(pieces) == []
    assert counts.get(text.name)


def test_a_known_text_is_not_counted_again() -> None:
    counts = counted(LINE)
    assert list(counts.count(Surroundings.of(LINE))) == []


def test_no_text_has_no_name() -> None:
    counts = counted("")
    assert Surroundings.of("") == Surroundings()
    assert counts.get("") is None


def test_only_the_last_ones_are_kept() -> None:
    texts = [LINE * number for number in range(1, KEPT + 2)]
    counts = counted(*texts)
    assert [counts.get(Surroundings.of(text).name) is None for text in texts] == [True] + [False] * KEPT


def test_equal_texts_have_equal_names() -> None:
    assert Surroundings.of(LINE) == Surroundings.of(LINE)
    assert Surroundings.of(LINE).name != Surroundings.of(LINE + " ").name
    assert Surroundings.of("half \ud83d of a pair").name

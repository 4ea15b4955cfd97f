from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench.families.masked import END, MASK
from infill_engine.errors import ModelDamagedError
from infill_engine.models.tokenizer import TokenizerVocabulary


@pytest.fixture(scope="module")
def vocabulary(model_folder: Path) -> TokenizerVocabulary:
    return TokenizerVocabulary(model_folder / "tokenizer.json", end=END)


def test_text_survives(vocabulary: TokenizerVocabulary) -> None:
    @given(st.text())
    @example("<|mask|>")
    @example("x = '<|endoftext|>' <|im_end|>")
    def check(text: str) -> None:
        assert vocabulary.decode(vocabulary.encode(text)) == text

    check()


@pytest.mark.parametrize(
    ("prefix", "kept", "partial"),
    [
        ("x = fo", "x =", " fo"),
        ("x = ", "x =", " "),
        ("    ret", "    ", "ret"),
        ("    ", "    ", ""),
        ("foo(", "foo(", ""),
        ("foo(ba", "foo(", "ba"),
        ("self.na", "self.", "na"),
        ("\n", "\n", ""),
        ("", "", ""),
        ("x = 12", "x = 12", ""),
        ("a_very_long_identifier_that_goes_on", "a_very_long_identifier_that_goes_on", ""),
        ("größ", "", "größ"),
    ],
)
def test_the_word_at_the_cursor_is_taken_back(
    vocabulary: TokenizerVocabulary, prefix: str, kept: str, partial: str
) -> None:
    assert vocabulary.split_partial_word(prefix) == (kept, partial)


def test_completions_begin_with_the_start_or_are_a_beginning_of_it(vocabulary: TokenizerVocabulary) -> None:
    longer, shorter = vocabulary.completions_of(b" ret")
    assert all(vocabulary.bytes_of(token).startswith(b" ret") for token in longer)
    assert all(b" ret".startswith(vocabulary.bytes_of(token)) for token in shorter)
    assert vocabulary.encode(" return")[0] in [*longer, *shorter]


def test_special_tokens_are_no_text(vocabulary: TokenizerVocabulary) -> None:
    assert vocabulary.decode([MASK]) is None
    assert END not in vocabulary.never()
    assert MASK in vocabulary.never()


def test_a_cut_character_is_no_text(vocabulary: TokenizerVocabulary) -> None:
    assert vocabulary.decode(vocabulary.encode("é")[:1]) is None or len(vocabulary.encode("é")) == 1


def test_a_damaged_tokenizer_is_said(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelDamagedError, match="install the model again"):
        TokenizerVocabulary(tmp_path / "tokenizer.json")

"""One vocabulary over every kind of tokenizer: a text's tokens are its bytes, and no text is a special token."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench.families.tiny import byte_level, pieces
from infill_engine.errors import ModelDamagedError
from infill_engine.models.tokenizer import TokenizerVocabulary

FIM = ["<|fim_prefix|>", "<tool_call>"]


@pytest.fixture(scope="module", params=["byte-level", "pieces"])
def vocabulary(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TokenizerVocabulary:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    if request.param == "byte-level":
        byte_level(["<|endoftext|>", "<|mask|>"], FIM).save(str(path))
    else:
        pieces(["<|endoftext|>", "<|mask|>", "<bos>"], [*FIM, "<table>", "\n\n"]).save(str(path))
    vocabulary = TokenizerVocabulary(path, width=500)
    vocabulary.ended_by("<|endoftext|>")
    return vocabulary


def test_text_survives(vocabulary: TokenizerVocabulary) -> None:
    @given(st.text())
    @example("<|endoftext|><|fim_prefix|> <tool_call>\n\n<table></table>")
    @example("é e\u0301 ﬁ")
    @example(" ▁▁ ▁\n\n\n<0x0A>")
    @example("\t  x =  1\r\n")
    def check(text: str) -> None:
        ids = vocabulary.encode(text)
        assert vocabulary.decode(ids) == text
        assert b"".join(vocabulary.bytes_of(token) for token in ids) == text.encode()
        assert not set(ids) & set(vocabulary.never().tolist())

    check()


@pytest.mark.parametrize(
    "trained_with",
    [
        {"truncation": {"direction": "Right", "max_length": 10, "strategy": "LongestFirst", "stride": 0}},
        {
            "padding": {
                "strategy": {"Fixed": 64},
                "direction": "Left",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "<|endoftext|>",
            }
        },
    ],
    ids=["truncation", "padding"],
)
def test_what_a_tokenizer_did_in_training_it_does_no_more(trained_with: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    byte_level(["<|endoftext|>", "<|mask|>"]).save(str(path))
    path.write_text(json.dumps(json.loads(path.read_text()) | trained_with))
    vocabulary = TokenizerVocabulary(path)
    text = "def area(radius):\n    return 3 * radius\n"
    assert vocabulary.decode(vocabulary.encode(text)) == text


def test_steering_tokens_are_never_text(vocabulary: TokenizerVocabulary) -> None:
    never = set(vocabulary.never().tolist())
    assert {vocabulary.id_of(name) for name in ("<|mask|>", *FIM)} <= never
    assert set(range(499, 500)) <= never
    assert vocabulary.end not in never
    assert vocabulary.decode([vocabulary.end]) is None
    assert vocabulary.decode([499]) is None


def test_completions_are_all_there_are(vocabulary: TokenizerVocabulary) -> None:
    for start in (b"a", b"ra", b" ", b"\xc3", b"zzz"):
        longer, shorter = vocabulary.completions_of(start)
        texts = {token: vocabulary.bytes_of(token) for token in range(len(vocabulary)) if vocabulary.bytes_of(token)}
        assert set(longer.tolist()) == {token for token, data in texts.items() if data.startswith(start)}
        shorter_texts = {texts[token] for token in shorter.tolist()}
        assert shorter_texts == {data for data in texts.values() if start.startswith(data) and data != start}


def test_line_breaks_are_known(vocabulary: TokenizerVocabulary) -> None:
    assert {vocabulary.bytes_of(token).count(b"\n") > 0 for token in vocabulary.breaks_line().tolist()} == {True}
    assert vocabulary.encode("\n")[0] in vocabulary.breaks_line()


def test_a_missing_token_is_named(vocabulary: TokenizerVocabulary) -> None:
    assert vocabulary.need("<|mask|>") == [vocabulary.id_of("<|mask|>")]
    with pytest.raises(ModelDamagedError, match=r"<\|fim_middle\|>.*use one that was"):
        vocabulary.need("<|mask|>", "<|fim_middle|>")


def test_tokens_that_only_the_config_names_are_known(tmp_path: Path) -> None:
    tokenizer = byte_level([])
    size = tokenizer.get_vocab_size()
    tokenizer.model.save(str(tmp_path))
    named = {str(size): {"content": "<|endoftext|>", "special": True}, str(size + 1): {"content": "<|mask|>"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": named}))
    vocabulary = TokenizerVocabulary(tmp_path / "tokenizer.json")
    assert vocabulary.need("<|endoftext|>", "<|mask|>") == [size, size + 1]
    assert vocabulary.decode(vocabulary.encode("x = <|mask|>")) == "x = <|mask|>"


def test_a_tokenizer_for_more_tokens_than_the_network_knows_is_refused(tmp_path: Path) -> None:
    tokenizer = byte_level([])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    size = tokenizer.get_vocab_size()
    assert len(TokenizerVocabulary(tmp_path / "tokenizer.json", width=size)) == size
    with pytest.raises(ModelDamagedError, match=f"{size} tokens and the network beside it knows only {size - 1}"):
        TokenizerVocabulary(tmp_path / "tokenizer.json", width=size - 1)


@pytest.mark.parametrize("name", ["tokenizer.model", "nothing"])
def test_a_tokenizer_that_cannot_be_read_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\0")
    with pytest.raises(ModelDamagedError, match=r"tokenizer\.model cannot be read" if "." in name else "neither"):
        TokenizerVocabulary(tmp_path / "tokenizer.json")

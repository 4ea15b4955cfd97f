"""A trimmed vocabulary encodes every text, and cuts it as the full one does wherever no token was dropped."""

from collections import Counter
from pathlib import Path

import pytest
from tokenizers import Tokenizer

import infill_engine
from infill_engine.errors import ModelDamagedError
from infill_engine.models.tokenizer import TokenizerVocabulary
from train.corpus.trunk_vocabulary import (
    SPECIALS,
    Bpe,
    Source,
    changes,
    choose,
    close,
    count,
    letters,
    read_gguf,
    sources,
    tokenizer_of,
    trim,
    unreachable,
)

MERGES = "i n,in t,p r,pr int,Ġ x,r e,u r,re t,ret ur,retur n"
COMMITTED = Path(infill_engine.__file__).parent / "weights/trunk/tokenizer.json"
TEXTS = (
    "a\r\n\tb\r\n",
    "😀 e\u0301 é ﬁ",
    "中文字\u3000ファイル",
    "\x00\x7f\u200b\ufeff",
    "x  \n\n   y",
    "<|fim_prefix|>",
)


def bpe(merges: str = MERGES, *specials: str) -> Bpe:
    pairs = [(left, right) for left, right in (merge.split(" ") for merge in merges.split(","))]
    return Bpe((*sorted(letters()), *(left + right for left, right in pairs)), tuple(pairs), specials)


def cut(tokenizer: Tokenizer, text: str) -> list[str]:
    tokens: list[str] = tokenizer.encode(text, add_special_tokens=False).tokens
    return tokens


def test_a_kept_token_brings_what_it_is_merged_from() -> None:
    parts = {"print": ("pr", "int"), "pr": ("p", "r"), "int": ("in", "t"), "in": ("i", "n"), "re": ("r", "e")}
    assert close(["print"], parts) == {"print", "pr", "int", "in", "p", "r", "i", "n", "t"}
    assert close([], parts) == set()


@pytest.mark.parametrize(
    ("kept", "merges"),
    [
        ([], []),
        (["int"], ["in", "int"]),
        (["print"], ["in", "int", "pr", "print"]),
        (["return", "int"], ["in", "int", "re", "ur", "ret", "retur", "return"]),
        (["return", "print", "Ġx"], ["in", "int", "pr", "print", "Ġx", "re", "ur", "ret", "retur", "return"]),
    ],
)
def test_trimming_keeps_the_order(kept: list[str], merges: list[str]) -> None:
    trimmed = trim(bpe(MERGES, "<|fim_pad|>"), kept)
    assert ["".join(pair) for pair in trimmed.merges] == merges
    assert trimmed.tokens == (*sorted(letters()), *merges)
    assert trimmed.specials == ("<|fim_pad|>",)


def test_no_trimmed_token_is_unreachable() -> None:
    full = bpe()
    for token in full.tokens:
        assert unreachable(tokenizer_of(trim(full, [token]))) == set()


def test_an_unreachable_token_is_found() -> None:
    without_int = Bpe((*sorted(letters()), "pr", "int", "print"), (("p", "r"), ("pr", "int")))
    assert unreachable(tokenizer_of(without_int)) == {"int", "print"}


@pytest.mark.parametrize("text", [*TEXTS, "".join(map(chr, range(0x800)))])
@pytest.mark.parametrize("kept", [[], ["print", "Ġx"]])
def test_every_text_can_be_encoded(text: str, kept: list[str]) -> None:
    tokenizer = tokenizer_of(trim(bpe(), kept))
    assert letters() <= set(tokenizer.get_vocab())
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_a_text_without_dropped_tokens_is_cut_as_before() -> None:
    text = "return print(x, ret) re in int"
    full = bpe()
    trimmed = trim(full, cut(tokenizer_of(full), text))
    assert len(trimmed.tokens) < len(full.tokens)
    assert cut(tokenizer_of(trimmed), text) == cut(tokenizer_of(full), text)


@pytest.mark.parametrize(
    ("kept", "text", "expected"),
    [
        (["print", "return", "Ġx"], "return print x", (0, 4)),  # return, space, print, space with x
        (["print", "Ġx"], "return print x", (1, 4)),
        ([], "int(x) é\r\n", (1, 9)),
        (["int"], "print", (1, 1)),
    ],
)
def test_tokens_that_are_cut_differently_are_counted(kept: list[str], text: str, expected: tuple[int, int]) -> None:
    full = tokenizer_of(bpe())
    trimmed = tokenizer_of(trim(bpe(), kept))
    held_out = [Source("go", text, True), Source("lua", "x", True), Source("lua", "x", True)]
    assert changes(full, trimmed, held_out) == {"go": expected, "lua": (0, 2)}


def test_tokens_are_counted_by_language() -> None:
    texts = [Source("go", "int int", False), Source("go", "x", False), Source("lua", "<|fim_pad|>", False)]
    counts = count(tokenizer_of(bpe(MERGES, "<|fim_pad|>")), texts)
    assert counts["go"] == Counter({"int": 2, "Ġ": 1, "x": 1})
    assert "<|fim_pad|>" not in counts["lua"]


@pytest.mark.parametrize(
    ("size", "always", "kept"),
    [
        (256, 0, []),
        (258, 0, ["in", "int"]),
        (260, 0, ["in", "int", "Ġx", "re"]),
        (262, 0, ["in", "int", "Ġx", "re", "ur", "ret"]),  # "return" needs two more places
        (300, 0, ["in", "int", "Ġx", "re", "ur", "ret", "retur", "return"]),
        (300, 259, ["in", "int", "pr", "Ġx", "re", "ur", "ret", "retur", "return"]),
    ],
)
def test_the_commonest_tokens_are_kept(size: int, always: int, kept: list[str]) -> None:
    counts = {
        "go": Counter({"int": 900_000, "return": 100_000}),
        "lua": Counter({"int": 300_000, "Ġx": 400_000, "return": 10_000, "re": 200_000, "ur": 90_000}),
        "json": Counter({"ret": 1}),
    }
    chosen = choose(bpe(MERGES), counts, size=size, always=always)
    assert [token for token in bpe().tokens if token in chosen - letters()] == kept


def test_which_files_are_read(tmp_path: Path) -> None:
    files = {f"{number}.go": b"x\r\n" for number in range(40)} | {
        "a.lua": b"y\n",
        "a.bin": b"x",
        "bad.lua": b"\xff",
        "translated.py": "Привет".encode(),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = list(sources([tmp_path]))
    assert Counter((source.language, source.text) for source in found) == {("go", "x\r\n"): 40, ("lua", "y\n"): 1}
    assert 0 < sum(source.held_out for source in found) < 20
    assert found == list(sources([tmp_path]))


def test_a_gguf_file_is_read(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    full = bpe()
    steering = ["<|endoftext|>", "<|vision_pad|>", "<|fim_prefix|>", "[PAD9]"]
    writer = gguf.GGUFWriter(tmp_path / "trunk.gguf", "qwen2")
    writer.add_token_list([*full.tokens, *steering])
    writer.add_token_merges([f"{left} {right}" for left, right in full.merges])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    assert read_gguf(tmp_path / "trunk.gguf") == Bpe(full.tokens, full.merges, ("<|endoftext|>", "<|fim_prefix|>"))


def test_a_gguf_file_without_a_vocabulary_is_refused(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(tmp_path / "trunk.gguf", "qwen2")
    writer.add_uint32("qwen2.block_count", 1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(ModelDamagedError, match=r"no tokenizer\.ggml\.tokens"):
        read_gguf(tmp_path / "trunk.gguf")


@pytest.fixture(scope="module")
def committed() -> TokenizerVocabulary:
    vocabulary = TokenizerVocabulary(COMMITTED)
    vocabulary.ended_by("<|endoftext|>")
    return vocabulary


@pytest.mark.parametrize("text", [*TEXTS, "def f(x):\n\treturn x  # 中文\r\n", "".join(map(chr, range(0x3000)))])
def test_the_shipped_vocabulary_is_byte_exact(committed: TokenizerVocabulary, text: str) -> None:
    ids = committed.encode(text)
    assert committed.decode(ids) == text
    assert b"".join(map(committed.bytes_of, ids)) == text.encode()


def test_the_shipped_vocabulary_is_whole(committed: TokenizerVocabulary) -> None:
    tokenizer = Tokenizer.from_file(str(COMMITTED))
    ordinary = tokenizer.get_vocab_size(with_added_tokens=False)
    specials = [name for name in SPECIALS if name != "<|cursor|>"]
    assert committed.need(*specials) == list(range(ordinary, ordinary + len(specials)))
    assert 32_000 <= len(committed) <= 80_000
    assert letters() <= set(tokenizer.get_vocab())
    assert unreachable(tokenizer) == set()
    assert COMMITTED.stat().st_size < 2_500_000


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("def __init__(self, x", "def| __|init|__(|self|,| x"),
        ("#include <stdio.h>\n", "#include| <|stdio|.h|>\n"),
        ("public static void main(String[] args)", "public| static| void| main|(String|[]| args|)"),
        ("\t\treturn nil, err\n", "\t|\treturn| nil|,| err|\n"),
    ],
)
def test_the_shipped_vocabulary_has_the_tokens_of_code(committed: TokenizerVocabulary, text: str, tokens: str) -> None:
    assert [committed.bytes_of(token).decode() for token in committed.encode(text)] == tokens.split("|")

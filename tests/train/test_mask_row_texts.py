"""The texts that mask rows learn from: written as the trunk would, with targets as far as these are known."""

import torch
from tiny import END, NETWORK, TEXTS

from infill_engine.models.trunk.network import UNSEEN, attention, forward, normed
from train.mask_rows.lanes import Order, Writer
from train.mask_rows.layout import anchors_of, known_slots, lay_out
from train.mask_rows.prompts import guides_of
from train.mask_rows.texts import LIKELIEST, Text, load_piece, save_piece


def test_a_text_is_what_the_trunk_would_write():
    for text in TEXTS:
        states = forward(NETWORK, NETWORK.embed(text.tokens), torch.arange(len(text)), causal)
        logprobs = torch.log_softmax(NETWORK.logits(normed(NETWORK, states)), -1)
        expected = logprobs.topk(LIKELIEST, -1)
        torch.testing.assert_close(text.logprobs, expected.values, atol=1e-4, rtol=1e-3)
        assert (text.likeliest[:, 0] == expected.indices[:, 0]).all()
        own = text.tokens[text.start :] == text.likeliest[text.start - 1 : -1, 0]
        guided = text.likeliest[text.start - 1 : -1, 0] == END
        assert (own | guided | guided.roll(1)).all()  # a guide has two tokens


def causal(_layer, queries, keys, values):
    size = queries.shape[1]
    return attention(queries, keys, values, torch.full((size, size), UNSEEN).triu(1))


def test_slots_have_targets_as_long_as_the_text_went_the_trunks_way():
    likeliest = torch.tensor([1, 2, 3, 9, 5, 6])[:, None].expand(-1, LIKELIEST)
    text = Text(torch.tensor([0, 1, 2, 3, 4, 5]), 1, likeliest, torch.zeros(6, LIKELIEST))
    assert known_slots(text, torch.arange(5), 3).int().tolist() == [
        [1, 1, 1],
        [1, 1, 0],  # its third slot would follow token 4, which the trunk would not have written
        [1, 0, 0],
        [0, 0, 0],
        [1, 0, 0],  # the text has no more tokens
    ]
    blocks = lay_out(text, torch.tensor([0, 4]), slots=3)
    assert blocks.rows.tolist() == [0, 1, 2, 3]
    assert blocks.likeliest[:, 0].tolist() == [2, 3, 9, 6]
    assert blocks.before.tolist() == [1, 2, 3, 5]
    assert anchors_of(text, 9, torch.Generator()).tolist() == [0, 1, 2, 4]


def test_a_given_middle_is_read_with_the_trunks_choices_as_targets():
    prompt, given = [7, 8, 9, 10], [3, 14, 15, 9, 2]
    writer = Writer(NETWORK, frozenset({END}), lanes=2, slots=32)
    read, written = writer.write([Order(prompt, [], len(given), given), Order(prompt, [], 3)])
    assert read.tokens.tolist() == [*prompt, *given]
    assert read.start == len(prompt)
    states = forward(NETWORK, NETWORK.embed(read.tokens), torch.arange(9), causal)
    assert torch.equal(read.likeliest[:, 0], NETWORK.logits(normed(NETWORK, states)).argmax(-1))
    assert written.tokens[4:].tolist() == written.likeliest[3:-1, 0].tolist()


def test_guides_are_the_beginnings_of_lines():
    assert guides_of("a = 1\n    b.c = 2\n\n}\n  ") == ["\n    b", "\n\n}"]


def test_a_piece_holds_its_texts(tmp_path):
    save_piece(tmp_path / "piece-0000.safetensors", TEXTS)
    for stored, text in zip(load_piece(tmp_path / "piece-0000.safetensors"), TEXTS, strict=True):
        assert torch.equal(stored.tokens, text.tokens)
        assert torch.equal(stored.likeliest, text.likeliest)
        assert stored.start == text.start
        torch.testing.assert_close(stored.logprobs, text.logprobs, atol=1e-2, rtol=1e-3)

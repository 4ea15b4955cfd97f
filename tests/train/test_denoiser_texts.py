"""The texts that the denoiser learns from: written as the trunk would, with targets as far as these are known."""

import torch
from tiny_denoiser import END, NETWORK, TEXTS, WRITTEN

from infill_engine.models.trunk.network import UNSEEN, attention, forward, normed
from train.denoiser.context import load_context, read_context, save_context
from train.denoiser.lanes import Order, Writer
from train.denoiser.layout import anchors_of, known_slots, lay_out
from train.denoiser.prompts import guides_of
from train.denoiser.texts import LIKELIEST, Text, load_piece, save_piece


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


def test_the_context_that_a_writer_keeps_is_the_one_that_is_read(tmp_path):
    for each in WRITTEN:
        read = read_context(NETWORK, each.text.tokens[None], 1, torch.bfloat16)
        save_context(tmp_path / "text.1.safetensors", each.context)
        kept = load_context(tmp_path / "text.1.safetensors")
        torch.testing.assert_close(kept.entered, read.entered, atol=1e-2, rtol=1e-2)
        torch.testing.assert_close(kept.keys_values, read.keys_values, atol=1e-2, rtol=1e-2)


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
    batch = lay_out([text], [torch.tensor([0, 4])], slots=3)
    assert batch.likeliest[0, 0, :, 0].tolist() == [2, 3, 9]
    assert batch.before[0, 0].tolist() == [1, 2, 3]
    assert batch.likeliest[0, 1, 0, 0] == 6
    assert batch.slots == 4
    generator = torch.Generator().manual_seed(0)
    assert anchors_of(text, 9, 9, generator).tolist() == [0, 1, 2, 4]
    assert anchors_of(text, 0, 9, generator).tolist() == []


def test_a_given_middle_is_read_with_the_trunks_choices_as_targets():
    prompt, given = [7, 8, 9, 10], [3, 14, 15, 9, 2]
    writer = Writer(NETWORK, frozenset({END}), lanes=2, slots=32)
    read, written = writer.write([Order(prompt, [], len(given), given), Order(prompt, [], 3)])
    assert read.text.tokens.tolist() == [*prompt, *given]
    assert read.text.start == len(prompt)
    states = forward(NETWORK, NETWORK.embed(read.text.tokens), torch.arange(9), causal)
    assert torch.equal(read.text.likeliest[:, 0], NETWORK.logits(normed(NETWORK, states)).argmax(-1))
    assert written.text.tokens[4:].tolist() == written.text.likeliest[3:-1, 0].tolist()


def test_guides_are_the_beginnings_of_lines():
    assert guides_of("a = 1\n    b.c = 2\n\n}\n  ") == ["\n    b", "\n\n}"]


def test_a_piece_holds_its_texts(tmp_path):
    save_piece(tmp_path / "piece-0000.safetensors", TEXTS)
    for stored, text in zip(load_piece(tmp_path / "piece-0000.safetensors"), TEXTS, strict=True):
        assert torch.equal(stored.tokens, text.tokens)
        assert torch.equal(stored.likeliest, text.likeliest)
        assert stored.start == text.start
        torch.testing.assert_close(stored.logprobs, text.logprobs, atol=1e-2, rtol=1e-3)

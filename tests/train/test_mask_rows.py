"""The task of mask rows: what they see and what they learn."""

import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "infill_engine" / "models"))

from pretended_device import pretended
from tiny import CONFIG, NETWORK, TEXTS, TRUNK, base_of

from infill_engine.models.trunk.network import UNSEEN, attention, forward, normed
from train.mask_rows import rows
from train.mask_rows.layout import SLOTS, anchors_of, lay_out
from train.mask_rows.loss import SHARED, Scored, Targets, score
from train.mask_rows.task import MaskRows, _score
from train.mask_rows.weights import draft_vocabulary, new_weights
from train.trunk.frozen import FrozenLayer, FrozenTrunk
from train.trunk.network import products_of

NAMES = [each.name for each in fields(FrozenLayer)]


def naive_states(first_layer, weights, tokens, anchor):
    """The states of one block, by the trunk's own pass over the context's rows and the block's, with a mask."""
    length, slots = anchor + 1, SLOTS
    layers = list(NETWORK.layers)
    for number in range(first_layer, CONFIG.layers):
        name = f"layers.{number}"

        def qkv(x, name=name):
            return torch.nn.functional.linear(x, weights[f"{name}.qkv.weight"], weights[f"{name}.qkv.bias"])

        def out(x, name=name):
            return torch.nn.functional.linear(x, weights[f"{name}.out.weight"])

        real = layers[number]

        def both(x, real=real, qkv=qkv):
            return torch.cat([real.qkv(x[:length]), qkv(x[length:])])

        def both_out(x, real=real, out=out):
            return torch.cat([real.out(x[:length]), out(x[length:])])

        layers[number] = replace(real, qkv=both, out=both_out)
    seen = torch.zeros(length + slots, length + slots, dtype=torch.bool)
    seen[:length, :length] = torch.ones(length, length).tril().bool()
    seen[length:] = True
    mask = torch.zeros(seen.shape).masked_fill_(~seen, UNSEEN)

    def attend(_layer, queries, keys, values):
        size = queries.shape[1]
        return attention(queries, keys, values, mask[:size, :size])

    positions = torch.arange(length + slots)
    lower = replace(NETWORK, layers=NETWORK.layers[:first_layer])
    x = forward(lower, NETWORK.embed(tokens[:length]), positions[:length], attend)
    norm = NETWORK.layers[first_layer].attention_norm
    known = torch.nn.functional.rms_norm(x[-1], (CONFIG.dim,), norm, CONFIG.norm_epsilon)
    entered = x[-1] + weights["entry"] @ known
    upper = replace(NETWORK, layers=layers[first_layer:])
    states = forward(upper, torch.cat([x, weights["mask"] + entered]), positions, attend)
    return normed(NETWORK, states)[length:]


@pytest.mark.parametrize("first_layer", [0, 1, 2])
def test_a_block_sees_its_text_and_itself(first_layer, monkeypatch):
    monkeypatch.setattr(rows, "GROUPED", 2)
    weights = new_weights(TRUNK, first_layer, 20)
    weights = {name: tensor + 0.1 * torch.randn_like(tensor) for name, tensor in weights.items()}
    for text, anchors in zip(TEXTS, ([4, 9, 15], [12, 20]), strict=False):
        states = rows.block_states(TRUNK, products_of(TRUNK), weights, lay_out(text, torch.tensor(anchors)))
        for found, anchor in zip(states.split(SLOTS), anchors, strict=True):
            expected = naive_states(first_layer, weights, text.tokens, anchor)
            torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("ce", [1.0, 0.1, 0.0])
def test_gradients_of_the_loss(ce):
    torch.manual_seed(0)
    count, words, dim, rank, known = 9, 20, 6, 3, 5
    states = torch.randn(count, dim, requires_grad=True)
    head = torch.randn(words, dim)
    weights = {
        "markov.before": torch.randn(words + 1, rank, requires_grad=True),
        "markov.after": torch.randn(words, rank, requires_grad=True),
        "confidence.weight": torch.randn(dim + 1, requires_grad=True),
        "confidence.bias": torch.randn(2, requires_grad=True),
    }
    likeliest = torch.stack([torch.randperm(words)[:known] for _ in range(count)])
    likeliest[3, 0], likeliest[4, 2] = words, words  # not in the draft vocabulary
    chances = torch.rand(count, known).softmax(-1) * 0.9
    targets = Targets(
        torch.arange(count) % 2, torch.rand(count), torch.randint(0, words + 1, (count,)), likeliest, chances
    )
    logits = states @ head.t() + weights["markov.before"][targets.before] @ weights["markov.after"].t()
    chance = torch.cat([logits.softmax(-1), torch.zeros(count, 1)], 1).gather(1, likeliest)
    inside = likeliest[:, 0] < words
    own = ce * -torch.where(inside, chance[:, 0], 1.0).log() + (1 - ce) * (1 - torch.minimum(chance, chances).sum(-1))
    right = (logits.argmax(-1) == likeliest[:, 0]).float()
    sure = logits.log_softmax(-1).max(-1).values
    doubt = torch.cat([states, sure[:, None]], 1).detach() @ weights["confidence.weight"]
    doubt = doubt + weights["confidence.bias"][targets.slot]
    confidence = torch.nn.functional.binary_cross_entropy_with_logits(doubt, right, reduction="none")
    (targets.weights * (own * inside + confidence)).sum().backward()
    gradients = {name: torch.zeros_like(weights[name]) for name in SHARED}
    with torch.no_grad():
        scored, of_states = score(states, head, weights, targets, ce, gradients)
    torch.testing.assert_close(scored.losses, own.detach() * inside)
    torch.testing.assert_close(of_states, states.grad)
    for name in SHARED:
        torch.testing.assert_close(gradients[name], weights[name].grad)


def task_and_weights(trunk=TRUNK):
    task = MaskRows(base_of(trunk))
    task.propose(draft_vocabulary([text.tokens for text in TEXTS], CONFIG.vocabulary, 48))
    return task, new_weights(trunk, 1, 48)


def examples(count=12):
    generator = torch.Generator().manual_seed(0)
    return [lay_out(text, anchors_of(text, count, generator)) for text in TEXTS]


def test_gradients_do_not_depend_on_how_blocks_are_grouped(monkeypatch):
    task, weights = task_and_weights()
    found = []
    for grouped in (1, 5, 16):
        monkeypatch.setattr(rows, "GROUPED", grouped)
        found.append(task.learn(weights, examples()[0]))
    for gradients, scores in found[1:]:
        assert scores[0].loss == pytest.approx(found[0][1][0].loss, rel=1e-4)
        torch.testing.assert_close(gradients, found[0][0], atol=1e-5, rtol=1e-3)


def test_a_device_computes_the_same(monkeypatch):
    task, weights = task_and_weights()
    expected = [task.judge(weights, item) for item in examples()]
    with pretended(monkeypatch) as device:
        layers = [FrozenLayer(*(getattr(layer, name).to(device) for name in NAMES)) for layer in TRUNK.layers]
        moved = FrozenTrunk(CONFIG, layers, TRUNK.norm.to(device), TRUNK.embedding.to(device))
        task, weights = task_and_weights(moved)
        for item, scores in zip(examples(), expected, strict=True):
            assert task.judge(weights, item)[0].sums["loss"] == pytest.approx(scores[0].sums["loss"], rel=1e-3)


def test_training_teaches():
    task, weights = task_and_weights()
    optimiser = torch.optim.Adam(weights.values(), lr=3e-3)
    losses = []
    for _ in range(20):
        learned = [task.learn(weights, item) for item in examples()]
        losses.append(sum(scores[0].loss for _, scores in learned))
        for number, tensor in enumerate(weights.values()):
            tensor.grad = sum(gradients[number] for gradients, _ in learned)
        optimiser.step()
    assert losses[-1] < 0.6 * losses[0]


def test_tokens_of_a_verify_pass():
    blocks = lay_out(TEXTS[0], torch.tensor([0]))
    # Three blocks: two right and a wrong one; a text that ends after its first slot, right; wrong, then right.
    slots = torch.tensor([0, 1, 2, SLOTS, 2 * SLOTS, 2 * SLOTS + 1])
    blocks = replace(blocks, anchors=torch.tensor([0, 1, 2]), rows=slots, weights=torch.ones(6))
    right = torch.tensor([1, 1, 0, 1, 0, 1]).bool()
    task, _ = task_and_weights()
    figures = task.figures([_score(blocks, Scored(torch.zeros(6), right, torch.zeros(6)))])
    assert [figures[f"accepted {slot}"] for slot in (1, 2, 3)] == pytest.approx([2 / 3, 1, 0])
    assert figures["tokens a verify pass"] == pytest.approx(1 + 2 / 3 + 2 / 3)

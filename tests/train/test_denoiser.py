"""The denoiser's trainer: what mask rows see, what they learn, and how a run goes on after it was stopped."""

import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "infill_engine" / "models"))

from pretended_device import pretended
from tiny_denoiser import CONFIG, NETWORK, TEXTS, TRUNK

from infill_engine.models.trunk.network import UNSEEN, attention, forward, normed
from train.denoiser.__main__ import evaluate
from train.denoiser.blocks import block_states, frozen_mlp
from train.denoiser.context import read_context
from train.denoiser.frozen import FrozenLayer, FrozenTrunk
from train.denoiser.layout import anchors_of, lay_out
from train.denoiser.learning import Learner, Step
from train.denoiser.loss import SHARED, Targets, score
from train.denoiser.report import Tally, tokens_of
from train.denoiser.run import WARMUP, Run, rate_at
from train.denoiser.vocabulary import Words, draft_vocabulary
from train.denoiser.weights import Shape, new_weights

NAMES = [each.name for each in fields(FrozenLayer)]


def naive_states(shape, weights, tokens, anchor):
    """The states of one block, by the trunk's own pass over the context's rows and the block's, with a mask."""
    length, slots = anchor + 1, shape.slots
    layers = list(NETWORK.layers)
    for number in range(shape.first_layer, CONFIG.layers):
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
    lower = replace(NETWORK, layers=NETWORK.layers[: shape.first_layer])
    x = forward(lower, NETWORK.embed(tokens[:length]), positions[:length], attend)
    entered = 0.0
    if shape.first_layer:
        norm = NETWORK.layers[shape.first_layer].attention_norm
        known = torch.nn.functional.rms_norm(x[-1], (CONFIG.dim,), norm, CONFIG.norm_epsilon)
        entered = x[-1] + weights["entry"] @ known
    upper = replace(NETWORK, layers=layers[shape.first_layer :])
    states = forward(upper, torch.cat([x, weights["mask"] + entered]), positions, attend)
    return normed(NETWORK, states)[length:]


@pytest.mark.parametrize("first_layer", [0, 1, 2])
def test_a_block_sees_its_context_and_itself(first_layer):
    shape = Shape(first_layer, slots=3, rank=4)
    weights = new_weights(TRUNK, shape, 20)
    weights = {name: tensor + 0.1 * torch.randn_like(tensor) for name, tensor in weights.items()}
    texts = TEXTS[:2]
    anchors = [torch.tensor([4, 9, 15]), torch.tensor([12, 20])]
    batch = lay_out(texts, anchors, slots=3)
    context = read_context(NETWORK, batch.tokens, first_layer, torch.float32)
    states = block_states(TRUNK, shape, weights, context, batch.anchors)
    for number, (text, own) in enumerate(zip(texts, anchors, strict=True)):
        for place, anchor in enumerate(own.tolist()):
            expected = naive_states(shape, weights, text.tokens, anchor)
            torch.testing.assert_close(states[number, place], expected, atol=1e-4, rtol=1e-3)


def test_the_backward_pass_of_the_frozen_mlp():
    rows, layer = torch.randn(5, CONFIG.dim, requires_grad=True), TRUNK.layers[0]
    gate, up = (rows @ layer.gate_up.t()).chunk(2, -1)
    expected = (torch.nn.functional.silu(gate) * up) @ layer.down.t()
    slopes = torch.randn_like(expected)
    (wanted,) = torch.autograd.grad(expected, rows, slopes)
    found = frozen_mlp(layer, rows)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found, rows, slopes)[0], wanted)


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


def learner_and_run(first_layer=1, trunk=TRUNK):
    shape, device = Shape(first_layer, rank=4), trunk.norm.device
    vocabulary = draft_vocabulary([text.tokens for text in TEXTS], CONFIG.vocabulary, 48).to(device)
    run = Run.begin(shape, vocabulary, new_weights(trunk, shape, len(vocabulary)))
    words = Words(vocabulary, CONFIG.vocabulary)
    return Learner(trunk, trunk.network(), shape, words, trunk.embedding[vocabulary], 0.5), run


def batches(together=1):
    generator = torch.Generator().manual_seed(0)
    pairs = [(text, anchors_of(text, 12, 4, generator)) for text in TEXTS]
    parts = [pairs[start : start + together] for start in range(0, len(pairs), together)]
    return [lay_out([text for text, _ in part], [anchors for _, anchors in part]) for part in parts]


@pytest.mark.parametrize("workers", [0, 2])
def test_gradients_do_not_depend_on_how_texts_are_put_together(workers):
    found = []
    for together in (1, 2, 4):
        learner, run = learner_and_run()
        _, slots = Step(workers).gradients(learner, run.weights, batches(together))
        found.append((slots, {name: tensor.grad for name, tensor in run.weights.items()}))
    for slots, gradients in found[1:]:
        assert slots == found[0][0]
        for name, gradient in gradients.items():
            torch.testing.assert_close(gradient, found[0][1][name], atol=1e-5, rtol=1e-3)


def test_a_device_computes_the_same(monkeypatch):
    """All but the backward pass through the blocks, which torch runs on real devices only."""

    def results(learner, run):
        device = learner.trunk.norm.device
        working = {name: tensor.detach() for name, tensor in run.weights.items()}
        found = []
        for batch in batches(2):
            scored, rows = learner.judge(working, batch)
            targets, _ = learner.words.targets(batch.to(str(device)), 2.0)
            gradients = {name: torch.zeros_like(working[name]) for name in SHARED}
            states = torch.linspace(-1, 1, len(rows) * CONFIG.dim).view(len(rows), -1).to(device)
            _, of_states = score(states, learner.head, working, targets, 0.5, gradients)
            found += [scored.losses, rows, of_states, *gradients.values()]
        return [tensor.cpu() for tensor in found]

    with torch.no_grad():
        expected = results(*learner_and_run())
        with pretended(monkeypatch) as device:
            layers = [FrozenLayer(*(getattr(layer, name).to(device) for name in NAMES)) for layer in TRUNK.layers]
            moved = FrozenTrunk(CONFIG, layers, TRUNK.norm.to(device), TRUNK.embedding.to(device))
            learner, run = learner_and_run(trunk=moved)
            torch.testing.assert_close(results(learner, run), expected)
            assert evaluate(learner, run, TEXTS).tokens >= 1


def train(learner, run, steps):
    losses = []
    for _ in range(steps):
        scores, _ = Step(0).gradients(learner, run.weights, batches())
        losses.append(float(torch.cat([scored.losses for scored, _ in scores]).mean()))
        assert run.step(3e-3)
        run.progress.steps += 1
    return losses


def test_training_teaches_and_a_run_goes_on_where_it_was_stopped(tmp_path):
    learner, run = learner_and_run()
    losses = train(learner, run, 20)
    assert losses[-1] < 0.6 * losses[0]
    run.save(tmp_path)
    resumed = Run.load(tmp_path)
    assert resumed.progress == run.progress
    train(learner, run, 2)
    train(learner, resumed, 2)
    for name, tensor in run.weights.items():
        torch.testing.assert_close(tensor, resumed.weights[name])


def test_a_gradient_that_is_not_finite_changes_nothing():
    learner, run = learner_and_run()
    Step(0).gradients(learner, run.weights, batches())
    before = run.weights["mask"].clone()
    run.weights["mask"].grad[0, 0] = float("nan")
    assert not run.step(1e-3)
    assert torch.equal(run.weights["mask"], before)


def test_tokens_of_a_verify_pass():
    tally = Tally(3)
    # Three blocks: two right and a wrong one; a text that ends after its first slot, right; wrong, then right.
    tally.add(torch.tensor([1, 1, 0, 1, 0, 1]).bool(), torch.tensor([0, 1, 2, 3, 6, 7]), torch.zeros(6))
    assert tally.accepted == pytest.approx([2 / 3, 1, 0])
    assert tally.right == pytest.approx([2 / 3, 1, 0])
    assert tally.tokens == pytest.approx(1 + 2 / 3 + 2 / 3)
    assert tokens_of([0.5, 0.5]) == pytest.approx(1.75)


def test_the_rate_rises_and_falls():
    rates = [rate_at(share, 1.0) for share in (0.0, WARMUP / 2, WARMUP, 0.5 + WARMUP / 2, 1.0, 1.2)]
    assert rates == pytest.approx([0.01, 0.5, 1.0, 0.51, 0.02, 0.02])

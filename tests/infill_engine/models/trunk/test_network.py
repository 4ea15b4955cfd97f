"""The forward pass against the transformers library's, and the mask."""

import torch
from tiny_trunk import network_of, random_weights, tiny_config
from transformers import Qwen2Config, Qwen2ForCausalLM

from infill_engine.models.trunk.network import UNSEEN, attention, forward, normed

IDS = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6])


def causal(rows: int) -> torch.Tensor:
    return torch.full((rows, rows), UNSEEN).triu(1)


def logits(network, ids, positions, mask):
    states = forward(network, network.embed(ids), positions, lambda _layer, *rows: attention(*rows, mask))
    return network.logits(normed(network, states))


def test_computes_what_the_transformers_library_computes():
    config = tiny_config(40)
    weights = random_weights(config)
    reference = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=config.vocabulary,
            hidden_size=config.dim,
            intermediate_size=config.hidden,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.kv_heads,
            rms_norm_eps=config.norm_epsilon,
            rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta},
            tie_word_embeddings=True,
        )
    ).eval()
    reference.load_state_dict({**weights, "lm_head.weight": weights["model.embed_tokens.weight"]})
    with torch.inference_mode():
        expected = reference(IDS[None]).logits[0]
        found = logits(network_of(config, weights), IDS, torch.arange(len(IDS)), causal(len(IDS)))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_a_row_depends_only_on_rows_that_its_mask_shows():
    config = tiny_config(40)
    network = network_of(config, random_weights(config))
    mask = causal(len(IDS))
    mask[5, 2] = mask[6, 2] = mask[7, 2] = UNSEEN
    changed = IDS.clone()
    changed[2] = 30
    positions = torch.arange(len(IDS))
    mask[4, 2] = mask[3, 2] = UNSEEN
    before, after = logits(network, IDS, positions, mask), logits(network, changed, positions, mask)
    torch.testing.assert_close(before[3:], after[3:])
    assert not torch.allclose(before[2], after[2])

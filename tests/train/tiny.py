"""A tiny trunk for the trainer, frozen, and texts that it wrote."""

import sys
from dataclasses import replace
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1] / "infill_engine" / "models" / "trunk"))

from tiny_trunk import network_of, random_weights, tiny_config

from train.mask_rows.lanes import Order, Writer
from train.trunk.base import Base
from train.trunk.frozen import FrozenLayer, FrozenTrunk
from train.trunk.network import products_of

CONFIG = replace(tiny_config(64), layers=3)
END = 63
NETWORK = network_of(CONFIG, random_weights(CONFIG))


def frozen_trunk(config=CONFIG):
    weights = random_weights(config)

    def joined(prefix, names, kind):
        return torch.cat([weights[f"{prefix}{name}_proj.{kind}"] for name in names])

    layers = []
    for number in range(config.layers):
        prefix = f"model.layers.{number}."
        layers.append(
            FrozenLayer(
                weights[f"{prefix}input_layernorm.weight"],
                weights[f"{prefix}post_attention_layernorm.weight"],
                joined(f"{prefix}self_attn.", "qkv", "weight"),
                joined(f"{prefix}self_attn.", "qkv", "bias"),
                weights[f"{prefix}self_attn.o_proj.weight"],
                joined(f"{prefix}mlp.", ("gate", "up"), "weight"),
                weights[f"{prefix}mlp.down_proj.weight"],
            )
        )
    return FrozenTrunk(config, layers, weights["model.norm.weight"], weights["model.embed_tokens.weight"])


TRUNK = frozen_trunk()


def base_of(trunk=TRUNK):
    """A trunk as tasks are given it, without files."""
    return Base(Path(), Path(), trunk, products_of(trunk))


def written(count=4, prompt=10, middle=24):
    """Texts that the tiny trunk wrote."""
    generator = torch.Generator().manual_seed(3)
    writer = Writer(NETWORK, frozenset({END}), lanes=3, slots=prompt + middle + count + 1)
    prompts = [torch.randint(0, 60, (prompt + number,), generator=generator).tolist() for number in range(count)]
    return list(writer.write(Order(each, [[1, 2]] * 50, middle) for each in prompts))


TEXTS = written()

"""The trunk as an OpenVINO graph: the forward pass of `network`, over rows that see kept keys and each other.

    branch                                           its number
    ids [T], wanted [W], cos and sin [1, 1, T + M, head_dim], mask [T + M, S + T + M], own [T + M]
    anchors [MOST_BLOCKS], slots [M]
    keys.{i} and values.{i} [1, kv_heads, S, head_dim]
      ─▶ of the branch with the number n:
         logprobs.{n} [W, V], logprobs.{n}.likeliest_of_blocks [W, V / BLOCK]
         new.{n} [layers, 2 * kv_heads, T, head_dim]
         denoised.{n} [M, words] and its likeliest_of_blocks, confidence.{n} [M, 1]

T rows and M mask rows are those of the branch's form (`forms`): within a branch, these numbers are fixed. Branches
share the weights, and only one is computed. Those of next edits add the terms of the edit adapter. `keys.{i}`, already
rotated, and `values.{i}` are those of S kept tokens in layer i. `new` are those of the rows, keys first. Only the
`wanted` rows get predictions. `own` says where among the S keys those of a row are.

Mask rows join at the denoiser's first layer, after the rows of the same pass. `anchors` are the rows of their blocks,
and `slots` the slots of these blocks, side by side.
"""

from typing import Any

import numpy as np
import openvino as ov
from openvino import opset15 as op

from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.forms import branches_of
from infill_engine.models.trunk.graph_branch import BranchBuilder
from infill_engine.models.trunk.graph_heads import GraphWeights, Heads
from infill_engine.models.trunk.graph_nodes import nothing_like

OPERATIONS, WEIGHTS = "graph.xml", "graph.bin"  # the files of a kept graph
UNSEEN = np.finfo(np.float32).min / 2  # twice this is still finite


def build_graph(weights: GraphWeights) -> ov.Model:
    """Return the network."""
    wanted, inputs, heads = op.parameter([], ov.Type.i32, "branch"), _inputs(weights.config), Heads(weights)
    outputs = []
    for number, each in enumerate(branches_of(denoises=weights.denoiser is not None, adapts=weights.terms is not None)):
        branch = BranchBuilder(weights, heads, each, _inputs(weights.config)).model()
        chosen = op.if_op(op.equal(wanted, op.constant(np.int32(number))).output(0))
        nothing = nothing_like(branch)
        chosen.set_then_body(branch)
        chosen.set_else_body(nothing)
        for outer, inner in zip(inputs, branch.get_parameters(), strict=True):
            chosen.set_input(outer.output(0), inner, None)
        for one, other in zip(branch.get_results(), nothing.get_results(), strict=True):
            outputs.append(op.result(chosen.set_output(one, other), name=f"{one.friendly_name}.{number}"))
    return ov.Model(outputs, [wanted, *inputs], "trunk")


def _inputs(config: TrunkConfig) -> list[Any]:
    f32, i32 = ov.Type.f32, ov.Type.i32
    kept, parts = [1, config.kv_heads, -1, config.head_dim], ("keys", "values")
    return [
        op.parameter([-1], i32, "ids"),
        op.parameter([-1], i32, "wanted"),
        op.parameter([1, 1, -1, config.head_dim], f32, "cos"),
        op.parameter([1, 1, -1, config.head_dim], f32, "sin"),
        op.parameter([-1, -1], f32, "mask"),
        op.parameter([-1], i32, "own"),
        op.parameter([-1], i32, "anchors"),
        op.parameter([-1], i32, "slots"),
        *(op.parameter(kept, f32, f"{part}.{layer}") for layer in range(config.layers) for part in parts),
    ]

"""A tiny Qwen2.5-Coder that has learnt the toy language, as a file for llama.cpp's server."""

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from toy import learn_to_continue
from transformers import Qwen2Config, Qwen2ForCausalLM

from bench.families.fim import PUBLISHED, Published, new_network

REPOSITORY = Path(__file__).parents[3]
HOME = REPOSITORY / ".cache" / "e2e" / "remote"
NAME = "qwen2.5-coder"
PUBLISHED[NAME] = Published(
    Qwen2Config,
    Qwen2ForCausalLM,
    "qwen2",
    ["<|endoftext|>", "<|im_end|>"],
    ["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|file_sep|>"],
    ("<|fim_prefix|>", "P", "<|fim_suffix|>", "S", "<|fim_middle|>", "L"),
    "<|endoftext|>",
    {"tie_word_embeddings": True},
)
NORMAL, CONTROL = 1, 3  # kinds of tokens
FIM = {"pre": "<|fim_prefix|>", "suf": "<|fim_suffix|>", "mid": "<|fim_middle|>", "pad": "<|fim_pad|>"}
LAYER = {
    "input_layernorm.weight": "attn_norm.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight",
    "self_attn.q_proj.weight": "attn_q.weight",
    "self_attn.q_proj.bias": "attn_q.bias",
    "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.k_proj.bias": "attn_k.bias",
    "self_attn.v_proj.weight": "attn_v.weight",
    "self_attn.v_proj.bias": "attn_v.bias",
    "self_attn.o_proj.weight": "attn_output.weight",
    "mlp.gate_proj.weight": "ffn_gate.weight",
    "mlp.up_proj.weight": "ffn_up.weight",
    "mlp.down_proj.weight": "ffn_down.weight",
}
OTHERS = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}


def write_model(path: Path) -> None:
    """Trains it, a few seconds, and writes it."""
    sys.path.append(str(HOME / "python"))
    import gguf

    about, network = PUBLISHED[NAME], new_network(NAME).requires_grad_(True)
    about = replace(about, prompt=tuple(part for part in about.prompt if part != "L"))  # as a server is asked
    tokenizer = about.tokenizer
    learn_to_continue(network, tokenizer, partial(about.ids, tokenizer), tokenizer.token_to_id(about.end))
    writer = gguf.GGUFWriter(path, "qwen2")
    config = new_network(NAME).config
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    definition = json.loads(tokenizer.to_str())
    special = {added["content"] for added in definition["added_tokens"]}
    tokens = [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda pair: pair[1])]
    tokens += [f"<unused_{number}>" for number in range(len(tokens), config.vocab_size)]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([CONTROL if token in special else NORMAL for token in tokens])
    writer.add_token_merges(
        [merge if isinstance(merge, str) else " ".join(merge) for merge in definition["model"]["merges"]]
    )
    writer.add_eos_token_id(tokenizer.token_to_id(about.end))
    writer.add_add_bos_token(False)
    for which, name in FIM.items():
        writer.add_uint32(f"tokenizer.ggml.fim_{which}_token_id", tokenizer.token_to_id(name))
    names = OTHERS | {
        f"model.layers.{layer}.{ours}": f"blk.{layer}.{theirs}"
        for layer in range(config.num_hidden_layers)
        for ours, theirs in LAYER.items()
    }
    for name, tensor in network.state_dict().items():
        if name in names:  # the output matrix is the embedding
            writer.add_tensor(names[name], tensor.detach().to(torch.float32).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

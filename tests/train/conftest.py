"""The tiny network, as what is trained."""

from small_network import network, tokenizer, tokenizer_path

__all__ = ["network", "tokenizer", "tokenizer_path"]

"""The tiny network, for all tests of the engine."""

from small_network import family, model_folder, network, tokenizer, tokenizer_path

__all__ = ["family", "model_folder", "network", "tokenizer", "tokenizer_path"]

"""Corpus, holes and the training of the embedded default model. Nothing in the product imports this package."""

"""Corpus, holes and the training of the embedded default model.

Of the product only the command `infill-ls adapt` imports this package, when it is run: `adapt` and what that needs.
"""

"""Corpora, holes and training: adapters of the trunk, and the small model from nothing."""

"""Holes: drawn from files as people type, laid out as the product asks, and the loss of their texts."""

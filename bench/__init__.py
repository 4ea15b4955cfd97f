"""Measurements of the product: how good its candidates are, and how fast they come. Nothing imports this."""

"""Measurements of the product: how good its candidates are, and how fast they come. Nothing imports this."""

from infill_engine.serving.loading import set_threads

# Before anything loads a numeric library: as many threads as the worker has, which wait as the worker's do.
set_threads()

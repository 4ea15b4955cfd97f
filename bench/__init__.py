"""Benchmarks of the product: quality of its candidates and latency. No other package imports this one."""

from infill_engine.serving.starting import set_threads

# Must run before any numeric library is loaded. Sets the same number of threads and the same wait policy as the worker.
set_threads()

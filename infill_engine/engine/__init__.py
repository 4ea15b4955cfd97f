"""From a request to its answer: the engine, its answer cache, and its fallbacks when memory runs out."""

"""From a request to its answer: the engine, its answer cache and how it degrades when memory runs out."""

"""Training: corpora, holes, adapters of the trunk, and the small model from scratch."""

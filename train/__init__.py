"""Training: corpora, holes, adapters of the trunk, and its mask rows."""

"""Which lines the language model is asked about after an edit, and what its answer proposes."""

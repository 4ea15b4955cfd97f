"""What steps of large published models cost: eager and compiled, and beside the library's own `generate`."""

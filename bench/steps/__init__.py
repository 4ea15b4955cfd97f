"""The cost of steps of large published models: eager, compiled, and compared with the library's own `generate`."""

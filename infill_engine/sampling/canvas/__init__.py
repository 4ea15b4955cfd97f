"""Completions by published models: the canvas, and the loop that denoises it."""

"""Latency from a keystroke to an answer: of the real server as a subprocess, and of the engine alone."""

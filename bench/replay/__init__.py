"""Measures the server from outside, over the pipes that an editor uses.

client        a small LSP client with timestamps
keystrokes    real code, taken out of a document and typed again
sources       the code that is typed
typing_runs   types, asks, and times the answers: one after the other, or at an editor's pace
processes     memory of the server and its worker
"""

"""Completions and next edits by the default model: one search over a tree of tokens, and the rewriting of lines."""

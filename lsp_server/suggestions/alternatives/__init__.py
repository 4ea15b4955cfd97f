"""Alternatives to code that is already there: what may be rewritten at a place, by what, and as which code actions."""

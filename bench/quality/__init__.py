"""Candidate quality: exact matches, similarity, syntax, silence and time, compared with simpler systems."""

"""How good the candidates are: exact matches, similarity, syntax, silence and time, next to simpler systems."""

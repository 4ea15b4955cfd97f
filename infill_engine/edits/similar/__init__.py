"""Places that are similar to an edited one, and so may be changed as it was.

Two words are used throughout. A place is *similar* if it has the shape of the edited one. `by_nodes` compares syntax
nodes: the newest edit is a `Template`, which fits nodes of the same structure with other names in them. `by_tokens`
compares tokens: each recent edit, in any file, is a `Rule`, which also fits strings, comments and lines with errors. A
*repeat* makes the same change again, where a rule fits.

One regression (`likelihood`) says for both how likely the user wants the place changed. Lines nearby that differ from
the edited one in their names alone (`same_shape`) have a confidence set by hand as well.
"""

"""Next edits: the places that no longer fit after an edit, and the text that belongs there.

    types             the values that pass between packages, with a table of them
    changes, tokens   changes of a text; its tokens
    parsed_text       a text with its syntax tree
    parsed_edit       an edit with both of its texts parsed: the input of every finder
    resolution        what a name means: its scopes, its owner, its type, and the assignments that reach it
    constructs        what finders read and write: parameters, calls, constructors, imports, documentation
    checks            what every proposal must satisfy, whoever made it
    similar           places that are like an edited one
    finders           one file for each rule by which something follows
    find              the pipeline: excerpt, finders, checks, order
    by_model          which lines the language model is asked about, and what its answer proposes

Each imports only from those above it.
"""

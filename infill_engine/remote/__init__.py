"""Engines elsewhere: a model on a server that the user has named fills in. Standard library only, and no torch.

address    the server's name as a user writes it, what is refused, and what the user is told
dialects   what such servers are asked, and how their answers are read
streams    one question over one connection, read as it comes and ended at once
server     several questions by one deadline; faults in words, and rest after them
engine     what a worker runs instead of a local model
"""

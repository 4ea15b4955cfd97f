"""Remote engines: a model on a server that the user has named. Standard library only, without torch.

address    the server's name as a user writes it, what is refused, and what the user is told
dialects   requests to such servers, and how their answers are read
streams    one request over one connection, read as the answer arrives and ended at once
server     several requests with one deadline; fault messages, and pauses after faults
proposer   the server's texts as proposals for the engine
"""

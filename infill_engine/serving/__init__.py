"""The process that owns the model.

protocol        frames on a socket or a pipe
runtime_files   where the socket is; who may use it
listening       lets clients join and leave
shared_engine   several clients of one dispatch
health          probes of the process, and whether it should be replaced
dispatch        decides which request uses the one compute slot
__main__        the entry point
"""

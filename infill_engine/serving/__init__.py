"""The process that owns the model.

protocol        the messages between the server and the engine
frames          their bytes on a socket or a pipe
runtime_files   where the socket is; who may use it
listening       lets clients join and leave
shared_engine   several clients of one dispatch
dispatch        decides which request uses the one compute slot
event_log       what the engine does, without document text, for users who ask for it
__main__        the entry point
"""

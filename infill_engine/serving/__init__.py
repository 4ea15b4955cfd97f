"""The process that owns the model.

protocol        the messages between the server and the engine
frames          their bytes on a socket or a pipe
runtime_files   where the socket is; who may use it
listening       lets clients join and leave
shared_engine   several clients of one dispatch
dispatch        decides which request uses the one compute slot
queues          the requests that wait for it
searching       a search that goes on after its answer
computing       runs one request and reports what became of it
preview         rows of a canvas as texts, for a client that watches
duty_cycle      how much is computed ahead, and on battery
starting        loads the engine for a model's name
event_log       what the engine does, without document text, for users who ask for it
__main__        the entry point
"""

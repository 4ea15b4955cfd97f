"""The process that owns the model.

protocol    frames on a pipe
dispatch    decides which request uses the one compute slot
__main__    the entry point
"""

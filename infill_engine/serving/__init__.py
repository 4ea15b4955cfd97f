"""The process that owns the model.

protocol    frames on a pipe
dispatch    one compute slot and who gets it
__main__    the entry
"""

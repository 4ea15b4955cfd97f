"""Completions and next edits over HTTP, in the protocols of other servers, so that their clients work here unchanged.

ray_serve     several replicas of the engine, on one machine or many, behind the same application
serving       checks who may connect, starts the engine, and runs the application
application   routes, limits, keys, errors and metrics
protocols     one module for each protocol: from its request to a `Question`, and from a `Reply` to its answer
completing    asks the engine a `Question` and returns a `Reply` by the deadline
rewriting     makes the edits that a `Question` tells again, and finds the next one
question      what all protocols ask for, and what they get
"""

"""What a shared engine measures of itself, and what it does about it.

latency      how long requests took
probe        what a small fixed pass costs in processor time
health       whether the process should be replaced
event_log    a log without document text, for users who ask for it
"""

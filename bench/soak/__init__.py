"""Shows that the servers and their shared engine hold: a long day of editing, faults at any moment, odd input.

__main__   an editing day in three windows
texts      what an editor knows of a text: places, edits, undo
window     one window: a real server over stdio, and the checks of what it answers
typist     what somebody does in a window
corpus     the files that are edited
witness    a server that also tells what text it holds
ticker     how long the machine keeps a process waiting
watching   memory of all processes over time
report     summary and picture
faults     faults at random moments
fuzz       odd input, in process
"""

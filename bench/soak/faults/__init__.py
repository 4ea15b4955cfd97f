"""Faults at random moments while three windows are typed in.

__main__     each fault so many times, and the table
scene        windows that are typed in steadily, and what is counted around a fault
client       a window in a process of its own, which can be killed
processes    processes that are killed, stopped or starved
places       sockets, disks and model files
preload      a slow disk and a jumping clock, for one process
"""

"""Runs that are compared with each other: the answers of two builds, their speed, and those of programs of others.

comparison    what differs between two runs, with intervals
passes        single forward passes; `processes` repeats them in processes that are replaced
drift         the same problems over and over in one process
levels        how fast passes are, and whether they become slower, from raw lines
students      the statistics of few levels
reference     a fixed calculation beside each measurement
gate          the answers of a build in a few passes (limited_passes)
"""

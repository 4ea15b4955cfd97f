"""The problems that are measured on: text with a hole, and what decides whether a text for it is right.

*.toml         the problems; all of them were written for this purpose
problem_files  reads and checks them
judging        whether a candidate is right: the original text, or a text that passes the tests
execution      runs a completed program in a process with limits
"""

"""Odd input, in process, so that there can be a million of it.

__main__      the command line
frames        bytes for the engine's decoder, and messages for the shared engine
conversation  a server that is talked to in process
wire          bytes for the server's decoder
documents     edits in any encoding and with any line ends, beside a naive text
values        random values, and changes of values and bytes
"""

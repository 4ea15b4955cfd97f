"""Mask rows: texts that the trunk wrote, their blocks, the loss of what slots propose, and the served file."""

"""Next edits: groups the user's edits into bursts and tracks the proposals until they are applied or dropped."""

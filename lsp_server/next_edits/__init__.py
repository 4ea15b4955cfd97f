"""Next edits: what the user has edited, gathered into bursts; what is proposed after it, until it is taken or not."""

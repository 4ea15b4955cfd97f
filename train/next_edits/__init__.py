"""Training of the soft prompt: keys and values in front of a patch that teach the frozen trunk to write next edits."""

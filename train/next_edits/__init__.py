"""Next edits: examples of version histories, laid out as the product asks, and the loss of their changes."""

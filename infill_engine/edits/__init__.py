"""Next edits: the places that no longer fit after an edit, and the text that belongs there."""

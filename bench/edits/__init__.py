"""Next edits on mechanical cases: edits with a known consequence, and edits without any."""

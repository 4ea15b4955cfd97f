"""The same typing, timed when the answer becomes visible in a real editor."""

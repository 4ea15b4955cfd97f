"""Training of what is used beside the frozen trunk. README.md says how."""

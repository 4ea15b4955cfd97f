"""Protocols of other servers. Each module turns its requests into questions, and replies into its responses."""

"""The user's settings: their schema, and the settings file."""

"""The same typing, timed where a person would see the answer."""

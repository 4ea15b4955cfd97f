"""The family of the small model: two context streams and a canvas decoder."""

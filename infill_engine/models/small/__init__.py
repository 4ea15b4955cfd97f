"""The family of the bundled default model: two context streams and a canvas decoder."""

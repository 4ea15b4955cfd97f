"""The embedded default's family: two context streams and a canvas decoder."""

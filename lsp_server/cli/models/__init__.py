"""`infill-ls models`."""

"""`infill-ls demo`."""

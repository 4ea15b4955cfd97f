"""`infill-ls doctor`."""

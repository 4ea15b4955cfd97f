"""`infill-ls bench`, and the typing that it replays."""

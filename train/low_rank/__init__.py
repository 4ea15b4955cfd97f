"""Low-rank terms of a frozen trunk: their products with rows, their gradients, and the file they are served from."""

"""Which model to use on this machine (`benchmark`)."""

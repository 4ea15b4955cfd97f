"""One file per LSP method, or per group of methods that change the same state. Each unpacks, calls and converts."""

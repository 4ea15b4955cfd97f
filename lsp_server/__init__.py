"""The language server: speaks LSP with the editor and frames with the worker. Imports no torch."""

"""The language server. It speaks LSP with the editor and exchanges frames with the worker. It never imports torch."""

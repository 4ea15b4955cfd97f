"""The language server. It speaks LSP with the editor and exchanges frames with the engine. It never imports torch."""

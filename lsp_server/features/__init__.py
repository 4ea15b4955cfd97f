"""One file per LSP method or group of methods that change the same state: unpack, call, convert."""

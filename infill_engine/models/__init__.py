"""Model families behind one interface, and how a name becomes a loaded model."""

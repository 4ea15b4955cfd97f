"""The frozen trunk for training: its products with rows, what may be learned beside them, and their gradients."""

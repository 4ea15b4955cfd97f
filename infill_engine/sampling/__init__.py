"""The denoising loop and the tree search, and the functions they consist of."""

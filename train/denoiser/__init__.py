"""Training of the denoiser: weights for mask rows behind the rows of the frozen trunk, on middles that it wrote."""

"""Training of the denoiser: weights for mask rows after the frozen trunk's rows, on middles that the trunk wrote."""

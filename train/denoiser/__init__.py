"""Training of the denoiser: weights for mask rows behind the frozen trunk's rows, on middles that the trunk wrote."""

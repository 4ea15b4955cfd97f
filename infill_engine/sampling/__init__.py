"""The one denoising loop, and the small functions it is made of."""

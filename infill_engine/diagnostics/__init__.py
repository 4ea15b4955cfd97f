"""Whether the adapters compute what they should, shown without anybody's weights: families in miniature.

tiny        tokenizers and checkpoint folders, made in a moment
masked      the masked-diffusion families in miniature, and what their networks compute, written out
fim         the fill-in-the-middle families, likewise
default     the default model's family, likewise
diffusion_gemma, stable_diffcoder
            those on a network, or under a mask, of their own
checks      a family written, loaded by the way of production, asked, and compared
costs       what a loaded model's steps and readings cost on this machine
"""

"""Whether the adapters of published families compute what they should, shown with miniatures instead of weights.

tiny        tokenizers and checkpoint folders, created quickly
masked      the masked-diffusion families in miniature, and an explicit form of what their networks compute
fim         the same for the fill-in-the-middle families
stable_diffcoder
            a family with its own mask
checks      a family written to disk, loaded as in production, run, and compared
"""

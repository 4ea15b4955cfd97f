"""The systems that are compared. Each answers a problem within a budget and records what its passes cost.

answered      what a system is asked, and what it answered
recording     costs that keep every piece of work, and that can end an answer after a number of passes
served        the product, and its model without retrieved texts
beams         the trunk from left to right, with the same weights and prompts
llama_server  llama.cpp's server with a GGUF file
generating    transformers' `generate` with the same GGUF file
"""

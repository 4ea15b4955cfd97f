"""Programs of others that answer the benchmark's problems, beside the product.

llama_server  llama.cpp's server with a GGUF file
generating    transformers' `generate` with the same file
finding       which of them are available here
"""

-- ggml-org/llama.vim as its users have it.
vim.opt.runtimepath:prepend(vim.env.INFILL_LLAMA_VIM)
vim.o.swapfile = false
vim.o.messagesopt = 'wait:0,history:500'
vim.o.shortmess = vim.o.shortmess .. 'I'
vim.g.llama_config = { endpoint_fim = vim.env.INFILL_URL .. '/infill', api_key = vim.env.INFILL_KEY }

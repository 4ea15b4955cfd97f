-- cursortab/cursortab.nvim as its README sets it up, with one of its providers.
vim.opt.runtimepath:prepend(vim.env.INFILL_CURSORTAB)
vim.cmd('filetype on')
vim.o.swapfile = false
vim.o.messagesopt = 'wait:0,history:500'
vim.o.shortmess = vim.o.shortmess .. 'I'
local provider = vim.env.INFILL_PROVIDER
require('cursortab').setup({
  provider = {
    type = provider,
    url = vim.env.INFILL_URL .. (provider == 'mercuryapi' and '/v1/edit/completions' or ''),
    api_key_env = 'INFILL_KEY',
  },
  log_level = 'debug',
})

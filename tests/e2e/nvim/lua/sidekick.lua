-- folke/sidekick.nvim as its users have it, with our server in place of GitHub's.
vim.opt.runtimepath:prepend(vim.env.INFILL_SIDEKICK)
vim.o.swapfile = false
vim.o.messagesopt = 'wait:0,history:500'
vim.o.shortmess = vim.o.shortmess .. 'I'
vim.lsp.config('copilot_infill', {
  cmd = vim.json.decode(vim.env.INFILL_SERVER),
  filetypes = { 'python' },
})
vim.lsp.enable('copilot_infill')
require('sidekick').setup({ cli = { watch = false } })

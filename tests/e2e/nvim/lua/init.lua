-- A user's configuration, with a server and settings that a test has chosen.
vim.opt.runtimepath:prepend(vim.env.INFILL_PLUGIN)
vim.o.swapfile = false
vim.o.messagesopt = 'wait:0,history:500' -- no prompt that nobody would answer
vim.o.shortmess = vim.o.shortmess .. 'I'
if vim.env.INFILL_OPTIONS then
  require('infill').setup(vim.json.decode(vim.env.INFILL_OPTIONS))
end

-- milanglacier/minuet-ai.nvim as its README sets it up, with `suffix` or with a template.
vim.opt.runtimepath:prepend(vim.env.INFILL_MINUET)
vim.o.swapfile = false
vim.o.messagesopt = 'wait:0,history:500'
vim.o.shortmess = vim.o.shortmess .. 'I'
local provider = {
  api_key = 'TERM',
  name = 'infill',
  end_point = vim.env.INFILL_URL .. '/v1/completions',
  model = 'default',
}
if vim.env.INFILL_TEMPLATE then
  provider.template = {
    prompt = function(before, after)
      return '<|fim_prefix|>' .. before .. '<|fim_suffix|>' .. after .. '<|fim_middle|>'
    end,
    suffix = false,
  }
end
require('minuet').setup({
  provider = 'openai_fim_compatible',
  provider_options = { openai_fim_compatible = provider },
  virtualtext = {
    auto_trigger_ft = { 'python' },
    keymap = { accept = '<C-l>', next = '<C-n>' },
  },
})

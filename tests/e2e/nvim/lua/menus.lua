-- A user's configuration with a completion plugin, whose folder is $INFILL_MENU, and our plugin.
vim.opt.runtimepath:prepend({ vim.env.INFILL_MENU, vim.env.INFILL_PLUGIN })
vim.o.swapfile = false
vim.o.messagesopt = 'wait:0,history:500'
vim.o.shortmess = vim.o.shortmess .. 'I'
local options = vim.json.decode(vim.env.INFILL_MENU_OPTIONS)
if options.plugin == 'blink' then
  -- Sources of its own need nothing else: the words of the buffer.
  require('blink.cmp').setup(vim.tbl_deep_extend('force', {
    fuzzy = { implementation = 'lua' },
    sources = { default = { 'buffer' } },
    cmdline = { enabled = false },
  }, options.setup))
else
  local cmp = require('cmp')
  cmp.register_source('words', {
    complete = function(_, _, callback)
      callback({ { label = 'xylophone', preselect = options.preselect }, { label = 'xylem' } })
    end,
  })
  local behavior = { behavior = cmp.SelectBehavior[options.behavior or 'Insert'] }
  cmp.setup({
    snippet = {
      expand = function(arguments)
        vim.snippet.expand(arguments.body)
      end,
    },
    mapping = {
      ['<C-n>'] = cmp.mapping(cmp.mapping.select_next_item(behavior)),
      ['<C-e>'] = cmp.mapping(cmp.mapping.abort()),
      ['<C-y>'] = cmp.mapping(cmp.mapping.confirm({ select = true })),
      -- As its documentation has it: the menu's where it is open.
      ['<Tab>'] = options.tab and cmp.mapping(function(fallback)
        if cmp.visible() then
          cmp.select_next_item(behavior)
        else
          fallback()
        end
      end, { 'i' }) or nil,
    },
    sources = { { name = 'words' } },
  })
end
require('infill').setup(vim.json.decode(vim.env.INFILL_OPTIONS))

--- The `:Infill` command and the autocommands. Cheap: nothing else is loaded before it is needed.
local M = {}

M.NAME = 'infill_ls' -- of the LSP client

local created = false

--- Creates them once. Called by plugin/infill.lua, and by setup() for plugin managers that skip the plugin folder.
function M.create()
  if created then
    return
  end
  created = true
  vim.api.nvim_create_user_command('Infill', function(arguments)
    require('infill.commands').run(arguments)
  end, {
    nargs = '*',
    range = true,
    desc = 'Code completion: candidates, switches, status',
    complete = function(lead, line)
      return require('infill.commands').complete(lead, line)
    end,
  })
  if vim.fn.has('nvim-0.12') == 0 then
    return
  end
  local group = vim.api.nvim_create_augroup('infill', {})
  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, { group = group, callback = callback })
  end
  local function is_ours(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    return client ~= nil and client.name == M.NAME and client or nil
  end
  on('LspAttach', function(event)
    local client = is_ours(event)
    if client then
      require('infill.attach').attach(client, event.buf)
    end
  end)
  on('LspDetach', function(event)
    if is_ours(event) then
      require('infill.attach').detach(event.buf)
    end
  end)
  on('FileType', function(event)
    if vim.lsp.is_enabled(M.NAME) then
      require('infill.server').complain_if_missing(event.buf)
    end
  end)
end

return M

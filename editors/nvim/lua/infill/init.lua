--- The public functions: setup(), actions for keys, and the status.
local M = {}

--- Configures and enables the server, and sets keys in the buffers it serves. `:help infill-setup`
---@param options? infill.Options
function M.setup(options)
  local hooks = require('infill.hooks')
  hooks.create()
  local server = require('infill.server')
  local problem = server.too_old()
  if problem then
    return server.tell_once(problem)
  end
  local chosen = require('infill.config').set(options)
  vim.lsp.config(hooks.NAME, {
    cmd = chosen.cmd,
    filetypes = chosen.filetypes,
    settings = { infill = chosen.settings },
  })
  vim.lsp.enable(hooks.NAME)
  -- A configuration that is sourced again also applies to buffers that are served already.
  for _, client in ipairs(vim.lsp.get_clients({ name = hooks.NAME })) do
    for bufnr in pairs(client.attached_buffers) do
      require('infill.attach').apply(bufnr, chosen)
    end
  end
end

--- Inserts the ghost text; without any, goes to the next edit that is shown, then applies it. False if there is neither,
--- so that a key can do something else.
---@return boolean
function M.accept()
  return require('infill.accept').accept('all') or require('infill.next_edit').jump_or_accept(true)
end

--- Inserts the next word of the ghost text and keeps the rest.
---@return boolean
function M.accept_word()
  return require('infill.accept').accept('word')
end

--- Inserts the next line of the ghost text and keeps the rest.
---@return boolean
function M.accept_line()
  return require('infill.accept').accept('line')
end

--- Shows the next candidate.
---@return boolean
function M.next()
  return require('infill.ghost').cycle(1)
end

--- Shows the previous candidate.
---@return boolean
function M.previous()
  return require('infill.ghost').cycle(-1)
end

--- Dismisses the ghost text; if there is none, the next edits that are shown.
---@return boolean
function M.dismiss()
  return require('infill.accept').dismiss() or require('infill.next_edit').dismiss()
end

--- Lists the candidates at the cursor, or for a range, with a preview in place.
---@param range? infill.Range
---@return boolean
function M.pick(range)
  return require('infill.pick').open(range)
end

--- Goes to the nearest place of the next edit that is shown; the second press applies it.
---@return boolean
function M.next_edit()
  return require('infill.next_edit').jump_or_accept()
end

--- Hides the next edits that are shown; they do not come back.
---@return boolean
function M.dismiss_next_edit()
  return require('infill.next_edit').dismiss()
end

--- Lists the next edits that are shown, and applies the chosen one.
---@return boolean
function M.pick_next_edit()
  return require('infill.next_edit').pick()
end

--- A short text for a status line; empty in buffers that are not served.
---@param bufnr? integer
---@return string
function M.status(bufnr)
  return require('infill.status').text(bufnr)
end

--- The data behind `status()`; nil in buffers that are not served.
---@param bufnr? integer
---@return infill.Status?
function M.state(bufnr)
  return require('infill.status').of(bufnr)
end

return M

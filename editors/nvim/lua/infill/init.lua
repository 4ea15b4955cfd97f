--- The public surface: setup(), the actions for keys, and what a status line can show.
local M = {}

--- Configures the server, switches it on, and sets keys in the buffers it serves. `:help infill-setup`
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
  -- A configuration that is sourced again also holds for the buffers that are served already.
  for _, client in ipairs(vim.lsp.get_clients({ name = hooks.NAME })) do
    for bufnr in pairs(client.attached_buffers) do
      require('infill.attach').apply(bufnr, chosen)
    end
  end
end

--- Inserts what the ghost text shows. False when there is none, so that a key can do something else.
---@return boolean
function M.accept()
  return require('infill.accept').accept('all')
end

--- Inserts the next word of the ghost text and leaves the rest standing.
---@return boolean
function M.accept_word()
  return require('infill.accept').accept('word')
end

--- Inserts the next line of the ghost text and leaves the rest standing.
---@return boolean
function M.accept_line()
  return require('infill.accept').accept('line')
end

--- Shows the next candidate.
---@return boolean
function M.next()
  return require('infill.ghost').cycle(1)
end

--- Shows the candidate before.
---@return boolean
function M.previous()
  return require('infill.ghost').cycle(-1)
end

--- Hides the ghost text until the text or the cursor changes; where there is none, the next edits that are shown.
---@return boolean
function M.dismiss()
  return require('infill.accept').dismiss() or require('infill.next_edit').dismiss()
end

--- Lists the candidates at the cursor, or those to replace a range, with a preview in place.
---@param range? infill.Range
---@return boolean
function M.pick(range)
  return require('infill.pick').open(range)
end

--- Goes to the nearest place of the next edit that is shown, and on the second press applies it.
---@return boolean
function M.next_edit()
  return require('infill.next_edit').jump_or_accept()
end

--- Hides the next edits that are shown; they do not come back.
---@return boolean
function M.dismiss_next_edit()
  return require('infill.next_edit').dismiss()
end

--- Lists the next edits that are shown; the one that is taken is applied.
---@return boolean
function M.pick_next_edit()
  return require('infill.next_edit').pick()
end

--- One short text for a status line; empty where infill is not at work.
---@param bufnr? integer
---@return string
function M.status(bufnr)
  return require('infill.status').text(bufnr)
end

--- What `status()` puts into words; nil where infill is not at work.
---@param bufnr? integer
---@return infill.Status?
function M.state(bufnr)
  return require('infill.status').of(bufnr)
end

return M

--- Attaches the server to a buffer, and detaches it.
local M = {}

local FOLLOWED = { 'CursorMovedI', 'TextChangedI', 'TextChangedP' }
local EDITED = { 'TextChanged', 'TextChangedI', 'InsertLeave' }
local MOVED = { 'BufEnter', 'CursorMoved', 'CursorMovedI' }
local CHANGED_OR_LEFT = { 'TextChanged', 'TextChangedI', 'TextChangedP', 'BufLeave' }

---@param client vim.lsp.Client
---@param bufnr integer
function M.attach(client, bufnr)
  local cursor = require('infill.cursor')
  local ghost = require('infill.ghost')
  local server = require('infill.server')
  local misfit = server.misfit(client.server_info)
  if misfit then
    server.tell_once(misfit, vim.log.levels.WARN)
  end
  ghost.watch(client)
  require('infill.accept').patch_own()
  server.add_folder(client, bufnr)
  local group = vim.api.nvim_create_augroup('infill.buffer:' .. bufnr, {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, {
      group = group,
      buffer = bufnr,
      callback = function()
        callback(bufnr)
      end,
    })
  end
  on('InsertCharPre', ghost.before)
  on(FOLLOWED, ghost.follow)
  on('InsertLeave', ghost.forget)
  require('infill.silence').watch(group, bufnr, ghost.make_way)
  on(MOVED, cursor.moved)
  on(CHANGED_OR_LEFT, cursor.stop)
  on(EDITED, require('infill.next_edit').follow)
  on('BufEnter', require('infill.next_edit').follow) -- an edit of another file may have consequences here
  on('DiagnosticChanged', require('infill.next_edit').diagnosed)
  if vim.api.nvim_get_current_buf() == bufnr then
    cursor.moved(bufnr)
    require('infill.next_edit').follow(bufnr)
  end
  local options = require('infill.config').get()
  if options then
    M.apply(bufnr, options)
  end
end

--- Enables ghost text and keys as the options say.
---@param bufnr integer
---@param options infill.Options
function M.apply(bufnr, options)
  require('infill.pick').leave(bufnr) -- its keys hide those that are set here
  vim.lsp.inline_completion.enable(true, { bufnr = bufnr })
  require('infill.keys').set_all(bufnr, options.keys --[[@as table]])
  require('infill.ghost').ask(bufnr)
end

---@param bufnr integer
function M.detach(bufnr)
  require('infill.pick').leave(bufnr)
  require('infill.ghost').forget(bufnr)
  require('infill.cursor').stop()
  require('infill.next_edit').detach(bufnr)
  pcall(vim.api.nvim_del_augroup_by_name, 'infill.buffer:' .. bufnr)
  require('infill.keys').remove_all(bufnr)
end

return M

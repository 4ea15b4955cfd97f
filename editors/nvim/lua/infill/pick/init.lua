--- Picking a candidate from a list, with a preview of the highlighted one in place.
local accept = require('infill.accept')
local candidates = require('infill.candidates')
local entries = require('infill.pick.entries')
local ghost = require('infill.ghost')
local place = require('infill.place')
local preview = require('infill.pick.preview')
local server = require('infill.server')
local stats = require('infill.stats')
local status = require('infill.status')

local M = {}

---@class infill.Range a part of one line
---@field row integer 0-based
---@field first integer byte column, 0-based
---@field last integer byte column after its end

---@class infill.Hole
---@field bufnr integer
---@field window integer
---@field client vim.lsp.Client
---@field tick integer the buffer's changedtick; a later one means that places have moved
---@field start [integer, integer] row and byte column, 0-based
---@field finish [integer, integer]
---@field inserting boolean whether the list was asked for in insert mode

---@type { bufnr: integer, leave: fun() }? the last list; leaving a closed one does nothing
local last

--- Opens the list, replacing an open one. False in buffers that are not served.
---@param range? infill.Range to be replaced
---@return boolean
function M.open(range)
  local bufnr = vim.api.nvim_get_current_buf()
  local client = server.of(bufnr)
  if not client then
    vim.notify(status.lines(bufnr)[1], vim.log.levels.WARN)
    return false
  end
  M.leave()
  ghost.hold(bufnr)
  local hole = M._hole(bufnr, client, range)
  last = { bufnr = bufnr, leave = M._selects() and M._by_select(hole) or M._by_list(hole) }
  return true
end

--- Closes the list, or cancels the request for it.
---@param bufnr? integer only if it is this buffer's
function M.leave(bufnr)
  if last and (not bufnr or bufnr == last.bufnr) then
    last.leave()
    last = nil
  end
end

--- Whether to use vim.ui.select: if the options say so, or if a plugin has replaced Neovim's own.
---@return boolean
function M._selects()
  local picker = (require('infill.config').get() or {}).picker or 'auto'
  local source = debug.getinfo(vim.ui.select, 'S').source:gsub('\\', '/')
  return picker == 'select' or (picker == 'auto' and not vim.endswith(source, 'vim/ui.lua'))
end

---@param bufnr integer
---@param client vim.lsp.Client
---@param range? infill.Range
---@return infill.Hole
function M._hole(bufnr, client, range)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local inserting = vim.startswith(vim.api.nvim_get_mode().mode, 'i')
  local line = vim.api.nvim_get_current_line()
  if not inserting and #line > 0 and column + #vim.fn.matchstr(line, '.$') >= #line then
    column = #line -- in normal mode the cursor cannot be after the last character, but that is the intended place
  end
  local start, finish = { row - 1, column }, { row - 1, column }
  if range then
    start, finish = { range.row, range.first }, { range.row, range.last }
  end
  return {
    bufnr = bufnr,
    window = vim.api.nvim_get_current_win(),
    client = client,
    tick = vim.api.nvim_buf_get_changedtick(bufnr),
    start = start,
    finish = finish,
    inserting = inserting,
  }
end

---@param hole infill.Hole
---@param on_canvas fun(rows: infill.CanvasRow[])
---@param on_answer fun(answer: infill.Answer)
---@return fun()
function M._ask(hole, on_canvas, on_answer)
  local function position(at)
    local line = vim.api.nvim_buf_get_lines(hole.bufnr, at[1], at[1] + 1, false)[1]
    return place.position({ row = at[1], left = line:sub(1, at[2]), right = '' }, hole.client.offset_encoding)
  end
  local range = { start = position(hole.start), ['end'] = position(hole.finish) }
  return candidates.ask(hole.client, hole.bufnr, range, on_canvas, on_answer)
end

---@param hole infill.Hole
---@return fun() leave
function M._by_list(hole)
  local shown = {} ---@type infill.Entry[]
  local menu, withdraw
  local function leave()
    withdraw()
    M._uncover(hole)
  end
  menu = require('infill.pick.menu').open(hole, {
    moved = function(index)
      preview.show(hole, shown[index])
    end,
    chosen = function(index)
      leave()
      local function put()
        M._put(hole, shown[index])
      end
      if hole.inserting then
        accept.as_undo_step(put)
      else
        put()
      end
    end,
    left = leave,
  })
  withdraw = M._ask(hole, function(rows)
    shown = vim.iter(rows):map(entries.of_row):totable()
    menu.set(shown)
  end, function(answer)
    shown = entries.of_answer(answer)
    if #shown == 0 then
      menu.close()
      M._say_why(answer)
    else
      menu.set(shown)
    end
  end)
  return menu.close
end

---@param hole infill.Hole
---@return fun() leave
function M._by_select(hole)
  local withdraw = M._ask(hole, function() end, function(answer)
    local shown = entries.of_answer(answer)
    if #shown == 0 then
      M._uncover(hole)
      return M._say_why(answer)
    end
    vim.ui.select(shown, {
      prompt = 'Infill',
      kind = 'infill',
      format_item = entries.label,
      preview_item = function(entry)
        preview.show(hole, entry)
        return preview.buffer(hole, entry)
      end,
    }, function(entry)
      M._uncover(hole)
      if entry then
        M._put_from_elsewhere(hole, entry)
      end
    end)
  end)
  return function()
    withdraw()
    M._uncover(hole)
  end
end

--- Lets ghost text appear again.
---@param hole infill.Hole
function M._uncover(hole)
  preview.clear(hole.bufnr)
  ghost.release(hole.bufnr)
end

---@param answer infill.Answer
function M._say_why(answer)
  vim.notify('infill: ' .. status.why(answer), vim.log.levels.INFO)
end

---@param hole infill.Hole
---@param entry infill.Entry
function M._put(hole, entry)
  local here = vim.api.nvim_win_is_valid(hole.window) and vim.api.nvim_win_get_buf(hole.window) == hole.bufnr
  if not here or vim.api.nvim_buf_get_changedtick(hole.bufnr) ~= hole.tick then
    return vim.notify('infill: the text has changed meanwhile; ask again', vim.log.levels.WARN)
  end
  if server.left_alone(hole.bufnr) then
    return vim.notify(status.lines(hole.bufnr)[1], vim.log.levels.WARN)
  end
  vim.api.nvim_set_current_win(hole.window)
  accept.put(hole.bufnr, hole.start, hole.finish, entry.text)
  stats.count('picked')
  if entry.command then
    hole.client:exec_cmd(entry.command, { bufnr = hole.bufnr })
  end
end

--- After a picker with its own modes: inserts in normal mode, then returns to insert mode if that was the mode.
---@param hole infill.Hole
---@param entry infill.Entry
function M._put_from_elsewhere(hole, entry)
  if vim.api.nvim_get_mode().mode ~= 'n' then
    vim.api.nvim_create_autocmd('ModeChanged', {
      pattern = '*:n',
      once = true,
      callback = vim.schedule_wrap(function()
        M._put_from_elsewhere(hole, entry)
      end),
    })
    return vim.cmd.stopinsert()
  end
  M._put(hole, entry)
  if hole.inserting and vim.api.nvim_get_current_win() == hole.window then
    local at_end = vim.api.nvim_win_get_cursor(0)[2] >= #vim.api.nvim_get_current_line() - 1
    vim.cmd(at_end and 'startinsert!' or 'startinsert')
  end
end

return M

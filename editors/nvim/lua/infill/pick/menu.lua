--- The list: a window that never takes the focus, so that insert mode, the cursor and undo stay as they are.
local entries = require('infill.pick.entries')
local keys = require('infill.keys')

local M = {}

local MOST_LINES = 10

local KEYS = {
  i = { down = { '<Down>', '<C-n>' }, up = { '<Up>', '<C-p>' }, choose = { '<CR>', '<Tab>' }, leave = { '<Esc>', '<C-e>' } },
  n = {
    down = { '<Down>', '<C-n>', 'j' },
    up = { '<Up>', '<C-p>', 'k' },
    choose = { '<CR>', '<Tab>' },
    leave = { '<Esc>', '<C-e>', 'q' },
  },
}

---@class infill.MenuEvents
---@field moved fun(index: integer)
---@field chosen fun(index: integer)
---@field left fun()

---@class infill.Menu
---@field set fun(entries: infill.Entry[])
---@field close fun()

--- Open only one at a time: another would take the first one's keys for the buffer's own.
---@param hole infill.Hole
---@param events infill.MenuEvents
---@return infill.Menu
function M.open(hole, events)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].modifiable = true -- also where 'nomodifiable' is the default
  local window ---@type integer?
  local selected, shown = 1, {} ---@type integer, infill.Entry[]
  local is_open = true
  local restore_keys, group

  local function close()
    if not is_open then
      return
    end
    is_open = false
    restore_keys()
    vim.api.nvim_del_augroup_by_id(group)
    if window and vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_close(window, true)
    else
      vim.api.nvim_buf_delete(buffer, { force = true })
    end
  end
  local function leave()
    if is_open then
      close()
      events.left()
    end
  end
  local function move(count)
    if #shown > 0 then
      selected = (selected - 1 + count) % #shown + 1
      vim.api.nvim_win_set_cursor(assert(window), { selected, 0 })
      events.moved(selected)
    end
  end
  local function choose(index)
    if shown[index] and not shown[index].unfinished then
      close()
      events.chosen(index)
    end
  end

  restore_keys = M._take_keys(hole, {
    down = function()
      move(1)
    end,
    up = function()
      move(-1)
    end,
    choose = function()
      choose(selected)
    end,
    leave = leave,
    number = choose,
  })
  group = M._leave_when_elsewhere(hole, leave)
  return {
    close = leave,
    set = function(given)
      if not is_open then
        return
      end
      shown, selected = given, math.min(selected, math.max(1, #given))
      window = M._draw(hole, buffer, window, shown, selected)
      move(0)
    end,
  }
end

--- Writes the lines and fits the window around them.
---@param hole infill.Hole
---@param buffer integer
---@param window? integer
---@param shown infill.Entry[]
---@param selected integer
---@return integer
function M._draw(hole, buffer, window, shown, selected)
  local texts = vim.iter(shown):map(entries.first_line):totable()
  local widest = 0
  for _, text in ipairs(texts) do
    widest = math.max(widest, vim.fn.strdisplaywidth(text))
  end
  local lines, width = {}, 20
  for i, entry in ipairs(shown) do
    local blanks = (' '):rep(widest - vim.fn.strdisplaywidth(texts[i]))
    lines[i] = (' %d %s%s  %s '):format(i, texts[i], blanks, entries.meta(entry))
    width = math.max(width, vim.fn.strdisplaywidth(lines[i]))
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  local height = math.max(1, math.min(#lines, MOST_LINES))
  -- Above the line, because the preview may need room below.
  local above = vim.fn.screenpos(hole.window, hole.start[1] + 1, hole.start[2] + 1).row > height + 2
  local config = {
    relative = 'win',
    win = hole.window,
    bufpos = hole.start,
    anchor = above and 'SW' or 'NW',
    row = above and 0 or 1,
    col = 0,
    width = math.min(width, vim.o.columns - 2),
    height = height,
    style = 'minimal',
    border = vim.o.winborder == '' and 'rounded' or nil,
    title = ' infill ',
    focusable = false,
    zindex = 200,
  }
  if window then
    vim.api.nvim_win_set_config(window, config)
  else
    config.noautocmd = true
    window = vim.api.nvim_open_win(buffer, false, config)
    vim.wo[window].cursorline = true
    vim.wo[window].winhighlight = 'CursorLine:PmenuSel,NormalFloat:Pmenu'
  end
  vim.api.nvim_win_set_cursor(window, { selected, 0 })
  return window
end

--- Maps the list's keys in the buffer; returns a function that restores the earlier mappings.
---@param hole infill.Hole
---@param actions table<string, fun(number?: integer)>
---@return fun()
function M._take_keys(hole, actions)
  local mode = hole.inserting and 'i' or 'n'
  local taken = {} ---@type infill.Key[]
  local function take(lhs, action)
    table.insert(taken, keys.map(hole.bufnr, mode, lhs, action, { nowait = true, desc = 'Infill: list' }))
  end
  for name, list in pairs(KEYS[mode]) do
    for _, lhs in ipairs(list) do
      take(lhs, actions[name])
    end
  end
  for number = 1, 9 do
    take(tostring(number), function()
      actions.number(number)
    end)
  end
  return function()
    keys.unmap(hole.bufnr, taken)
  end
end

--- Typing, moving the cursor or leaving the buffer closes the list.
---@param hole infill.Hole
---@param leave fun()
---@return integer
function M._leave_when_elsewhere(hole, leave)
  local group = vim.api.nvim_create_augroup('infill.menu', {})
  local cursor = vim.api.nvim_win_get_cursor(hole.window)
  vim.api.nvim_create_autocmd({ 'CursorMoved', 'CursorMovedI', 'TextChanged', 'TextChangedI', 'TextChangedP' }, {
    group = group,
    buffer = hole.bufnr,
    callback = function()
      local moved = not vim.deep_equal(cursor, vim.api.nvim_win_get_cursor(0))
      if moved or vim.api.nvim_buf_get_changedtick(hole.bufnr) ~= hole.tick then
        leave()
      end
    end,
  })
  vim.api.nvim_create_autocmd({ 'InsertLeave', 'InsertEnter', 'BufLeave', 'WinLeave' }, {
    group = group,
    buffer = hole.bufnr,
    callback = leave,
  })
  return group
end

return M

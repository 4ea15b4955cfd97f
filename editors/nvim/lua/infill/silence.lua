--- When ghost text gives way: to an active snippet, and to the item selected in a completion menu (Neovim's own,
--- blink.cmp or nvim-cmp).
local M = {}

local NVIM_CMP = 'cmp'
local BLINK = 'blink.cmp'

---@type table<table, true> views of nvim-cmp that are watched
local watched = setmetatable({}, { __mode = 'k' })

--- Why ghost text must stay hidden now, as a reason of `infill.status`; nil if it may appear.
---@return 'snippet'|'menu'|nil
function M.reason()
  if vim.snippet.active() then
    return 'snippet'
  end
  local selected = M._selected()
  if not selected then
    return nil
  end
  -- If the item is in the text already, ghost text continues it.
  local column = vim.api.nvim_win_get_cursor(0)[2]
  return not vim.endswith(vim.api.nvim_get_current_line():sub(1, column), selected) and 'menu' or nil
end

--- In insert mode, calls back when a menu was opened or closed or another item was selected.
---@param group integer of autocommands
---@param bufnr integer
---@param changed fun(bufnr: integer)
function M.watch(group, bufnr, changed)
  local function soon()
    -- Later: Neovim's own menu has not put the item into the text yet.
    vim.schedule(function()
      if vim.api.nvim_get_current_buf() == bufnr and vim.startswith(vim.api.nvim_get_mode().mode, 'i') then
        changed(bufnr)
      end
    end)
  end
  local function on(event, options)
    vim.api.nvim_create_autocmd(event, vim.tbl_extend('error', options, { group = group, callback = soon }))
  end
  on({ 'CompleteChanged', 'CompleteDone' }, { buffer = bufnr })
  on('User', { pattern = { 'BlinkCmpListSelect', 'BlinkCmpMenuOpen', 'BlinkCmpMenuClose' } })
  -- nvim-cmp has no autocommands, and is often loaded only when insert mode is entered.
  vim.api.nvim_create_autocmd({ 'InsertEnter', 'InsertCharPre' }, {
    group = group,
    buffer = bufnr,
    callback = function()
      M._watch_cmp()
    end,
  })
  on('User', { pattern = 'InfillCmpChanged' })
end

--- The text that the selected item of an open menu inserts; nil if there is none.
---@return string?
function M._selected()
  if vim.fn.pumvisible() ~= 0 then
    return vim.tbl_get(vim.fn.complete_info({ 'completed' }), 'completed', 'word')
  end
  -- Other plugins may change their functions. Without them, ghost text appears as if there were no menu.
  local found, text = pcall(function()
    local blink, cmp = package.loaded[BLINK], package.loaded[NVIM_CMP]
    local item = blink and blink.is_menu_visible() and blink.get_selected_item()
    if item then
      return vim.tbl_get(item, 'textEdit', 'newText') or item.insertText or item.label
    end
    local entry = cmp and cmp.visible() and cmp.get_selected_entry()
    return entry and entry:get_word() or nil
  end)
  return found and text or nil
end

function M._watch_cmp()
  local view = vim.tbl_get(package.loaded, NVIM_CMP, 'core', 'view')
  if not view or watched[view] then
    return
  end
  watched[view] = true
  local function changed()
    vim.api.nvim_exec_autocmds('User', { pattern = 'InfillCmpChanged', modeline = false })
  end
  pcall(function()
    -- It has no other event for the selected item.
    local on_entry_change = view.on_entry_change
    view.on_entry_change = function(...)
      changed()
      return on_entry_change(...)
    end
    view.event:on('menu_opened', changed)
    view.event:on('menu_closed', changed)
  end)
end

return M

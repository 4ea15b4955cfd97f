--- Keys in the buffers that are served. A key without a task acts as if it were not mapped.
local M = {}

local DESCRIPTIONS = {
  accept = 'Infill: accept, or go to the next edit, then apply it',
  accept_word = 'Infill: accept a word',
  accept_line = 'Infill: accept a line',
  next = 'Infill: next candidate',
  previous = 'Infill: previous candidate',
  dismiss = 'Infill: dismiss',
  pick = 'Infill: pick a candidate',
  next_edit = 'Infill: go to the next edit, then apply it',
  dismiss_next_edit = 'Infill: dismiss the next edit',
}

local MODES = { next_edit = { 'i', 'n' } } -- insert mode for all others
local LEAVE = '<Esc>' -- in normal mode also dismisses the next edit that is shown

---@class infill.Key a mapping of ours in a buffer
---@field mode string
---@field lhs string
---@field before table the buffer's own mapping that it hides; empty if there is none

---@type table<integer, infill.Key[]> by buffer
local ours = {}

---@param bufnr integer
---@param keys table<infill.Action, string|false>
function M.set_all(bufnr, keys)
  M.remove_all(bufnr)
  ours[bufnr] = {}
  if keys.next_edit then
    M._set(bufnr, 'n', LEAVE, 'dismiss_next_edit')
  end
  for action, lhs in pairs(keys) do
    -- In insert mode, `accept` goes to next edits, too.
    local modes = action == 'next_edit' and lhs == keys.accept and { 'n' } or MODES[action] or { 'i' }
    for _, mode in ipairs(lhs and modes or {}) do
      M._set(bufnr, mode, lhs --[[@as string]], action)
    end
  end
end

---@param bufnr integer
function M.remove_all(bufnr)
  M.unmap(bufnr, ours[bufnr] or {})
  ours[bufnr] = nil
end

---@param bufnr integer
---@param mode string
---@param lhs string
---@param action fun(before: table) gets the buffer's own mapping that ours hides, or an empty one
---@param options vim.keymap.set.Opts
---@return infill.Key
function M.map(bufnr, mode, lhs, action, options)
  local before = vim.api.nvim_buf_call(bufnr, function()
    return vim.fn.maparg(lhs, mode, false, true)
  end)
  before = before.buffer == 1 and before or {}
  vim.keymap.set(mode, lhs, function()
    action(before)
  end, vim.tbl_extend('error', options, { buffer = bufnr }))
  return { mode = mode, lhs = lhs, before = before }
end

--- Removes mappings, and restores those that they hide.
---@param bufnr integer
---@param keys infill.Key[]
function M.unmap(bufnr, keys)
  if not vim.api.nvim_buf_is_loaded(bufnr) then
    return
  end
  vim.api.nvim_buf_call(bufnr, function()
    for _, key in ipairs(keys) do
      pcall(vim.keymap.del, key.mode, key.lhs, { buffer = bufnr })
      if not vim.tbl_isempty(key.before) then
        vim.fn.mapset(key.mode, false, key.before)
      end
    end
  end)
end

--- Types keys before any that are waiting.
---@param keys string in the notation of mappings
function M.feed(keys)
  M._feed(M._raw(keys), false)
end

---@param bufnr integer
---@param mode string
---@param lhs string
---@param action infill.Action|'dismiss_next_edit'
function M._set(bufnr, mode, lhs, action)
  local key = M.map(bufnr, mode, lhs, function(before)
    if not require('infill')[action]() then
      M._fall_through(mode, lhs, before)
    end
  end, { desc = DESCRIPTIONS[action] })
  table.insert(ours[bufnr], key)
end

--- Does what the key would do without our mapping.
---@param mode string
---@param lhs string
---@param before table the buffer's own mapping that ours hides, or an empty one
function M._fall_through(mode, lhs, before)
  local mapping = vim.tbl_isempty(before) and M._global(mode, lhs) or before
  if vim.tbl_isempty(mapping) then
    return M.feed(lhs)
  elseif mapping.callback and mapping.expr ~= 1 then
    return mapping.callback()
  end
  local keys = M._keys_of(mapping)
  -- If a mapping begins with its own key, Neovim does not map that key again.
  local own = M._raw(lhs)
  local first = vim.startswith(keys, own) and own or ''
  M._feed(keys:sub(#first + 1), mapping.noremap == 0)
  M._feed(first, false)
end

--- The keys that a mapping types.
---@param mapping table
---@return string raw
function M._keys_of(mapping)
  if mapping.expr ~= 1 then
    return M._raw(mapping.rhs)
  end
  local keys ---@type any
  if mapping.callback then
    keys = mapping.callback()
  else
    -- Replace key names before evaluating it, as Neovim does when it defines a mapping.
    keys = vim.api.nvim_eval(M._raw(mapping.rhs))
  end
  keys = keys ~= nil and tostring(keys) or ''
  return mapping.replace_keycodes == 1 and M._raw(keys) or keys
end

--- Keys as a string of Vim script holds them: only those that are no characters begin with K_SPECIAL. What
--- nvim_replace_termcodes returns also has the bytes of characters escaped.
---@param keys string in the notation of mappings
---@return string
function M._raw(keys)
  return (vim.api.nvim_replace_termcodes(keys, true, true, true):gsub('\128\254X', '\128'))
end

---@param raw string
---@param remap boolean
function M._feed(raw, remap)
  vim.api.nvim_feedkeys(raw, remap and 'im' or 'in', true)
end

---@param mode string
---@param lhs string
---@return table?
function M._global(mode, lhs)
  local raw = vim.api.nvim_replace_termcodes(lhs, true, true, true)
  for _, mapping in ipairs(vim.api.nvim_get_keymap(mode)) do
    if mapping.lhsraw == raw or mapping.lhsrawalt == raw then
      return mapping
    end
  end
end

return M

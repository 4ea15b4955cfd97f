--- Insert-mode keys in the buffers served. A key that has nothing to do acts as if we had not mapped it.
local M = {}

local DESCRIPTIONS = {
  accept = 'Infill: accept',
  accept_word = 'Infill: accept a word',
  accept_line = 'Infill: accept a line',
  next = 'Infill: next candidate',
  previous = 'Infill: previous candidate',
  dismiss = 'Infill: dismiss',
  pick = 'Infill: pick a candidate',
}

---@type table<integer, { lhs: string, before: table }[]> by buffer: our keys, and the buffer's own mappings they hide
local ours = {}

---@param bufnr integer
---@param keys table<infill.Action, string|false>
function M.set_all(bufnr, keys)
  M.remove_all(bufnr)
  ours[bufnr] = {}
  for action, lhs in pairs(keys) do
    if lhs then
      M._set(bufnr, lhs, action)
    end
  end
end

---@param bufnr integer
function M.remove_all(bufnr)
  for _, key in ipairs(ours[bufnr] or {}) do
    if vim.api.nvim_buf_is_loaded(bufnr) then
      vim.api.nvim_buf_call(bufnr, function()
        pcall(vim.keymap.del, 'i', key.lhs, { buffer = bufnr })
        if not vim.tbl_isempty(key.before) then
          vim.fn.mapset('i', false, key.before)
        end
      end)
    end
  end
  ours[bufnr] = nil
end

--- Types keys, in front of what has been typed ahead.
---@param keys string in the notation of mappings
function M.feed(keys)
  M._feed(M._raw(keys), false)
end

---@param bufnr integer
---@param lhs string
---@param action infill.Action
function M._set(bufnr, lhs, action)
  local before = vim.api.nvim_buf_call(bufnr, function()
    return vim.fn.maparg(lhs, 'i', false, true)
  end)
  before = before.buffer == 1 and before or {}
  table.insert(ours[bufnr], { lhs = lhs, before = before })
  vim.keymap.set('i', lhs, function()
    if not require('infill')[action]() then
      M._fall_through(lhs, before)
    end
  end, { buffer = bufnr, desc = DESCRIPTIONS[action] })
end

--- Does what the key would do without us.
---@param lhs string
---@param before table the buffer's own mapping that ours hides, or an empty one
function M._fall_through(lhs, before)
  local mapping = vim.tbl_isempty(before) and M._global(lhs) or before
  if vim.tbl_isempty(mapping) then
    return M.feed(lhs)
  elseif mapping.callback and mapping.expr ~= 1 then
    return mapping.callback()
  end
  local keys = M._keys_of(mapping)
  -- A mapping that begins with its own key does not map that key again.
  local own = M._raw(lhs)
  local first = vim.startswith(keys, own) and own or ''
  M._feed(keys:sub(#first + 1), mapping.noremap == 0)
  M._feed(first, false)
end

--- What a mapping types.
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
    -- Key names in it are replaced before it is evaluated, as they are when a mapping is defined.
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

---@param lhs string
---@return table?
function M._global(lhs)
  local raw = vim.api.nvim_replace_termcodes(lhs, true, true, true)
  for _, mapping in ipairs(vim.api.nvim_get_keymap('i')) do
    if mapping.lhsraw == raw or mapping.lhsrawalt == raw then
      return mapping
    end
  end
end

return M

--- The user's options, with defaults.
local M = {}

---@alias infill.Action 'accept'|'accept_word'|'accept_line'|'next'|'previous'|'dismiss'|'pick'|'next_edit'

---@class infill.Options
---@field cmd? string[] how to start the server
---@field filetypes? string[] where to start it; nil means everywhere that its settings allow
---@field settings? table<string, any> of the server; `:help infill-settings`
---@field keys? table<infill.Action, string|false>|false insert-mode keys; false for none
---@field picker? 'auto'|'list'|'select' our list, vim.ui.select, or the latter only if a plugin has replaced it

---@type table<infill.Action, string|false>
local KEYS = {
  accept = '<Tab>',
  accept_word = '<M-w>',
  accept_line = '<M-l>',
  next = '<M-]>',
  previous = '<M-[>',
  dismiss = '<C-]>',
  pick = '<M-p>',
  next_edit = '<M-n>',
}

local TYPES = { cmd = 'table', filetypes = 'table', settings = 'table', keys = { 'table', 'boolean' }, picker = 'string' }

---@type infill.Options? set by setup()
local chosen

--- Checks and stores the options. Unknown ones are reported and ignored.
---@param options? infill.Options
---@return infill.Options
function M.set(options)
  local kept = {}
  for name, value in pairs(options or {}) do
    local wanted = TYPES[name]
    if not wanted then
      M.warn(('unknown option %s is ignored; known are %s'):format(name, table.concat(M.names(TYPES), ', ')))
    elseif not vim.list_contains(vim.islist(wanted) and wanted or { wanted }, type(value)) then
      M.warn(('option %s is a %s and is ignored; see :help infill-setup'):format(name, type(value)))
    else
      kept[name] = value
    end
  end
  kept.keys = M.keys_of(kept.keys)
  kept.picker = kept.picker or 'auto'
  kept.settings = kept.settings and next(kept.settings) and kept.settings or vim.empty_dict()
  chosen = kept
  return kept
end

--- The current options; nil if setup() was not called and Neovim's own functions are used.
---@return infill.Options?
function M.get()
  return chosen
end

---@param message string
function M.warn(message)
  require('infill.server').tell_once('infill: ' .. message, vim.log.levels.WARN)
end

---@param keys? table<infill.Action, string|false>|boolean
---@return table<infill.Action, string|false>
function M.keys_of(keys)
  if keys == false then
    return {}
  end
  local merged = vim.tbl_extend('force', KEYS, type(keys) == 'table' and keys or {})
  for action in pairs(merged) do
    if KEYS[action] == nil then
      M.warn(('unknown key %s is ignored; known are %s'):format(action, table.concat(M.names(KEYS), ', ')))
      merged[action] = nil
    end
  end
  return merged
end

---@param of table<string, any>
---@return string[]
function M.names(of)
  local names = vim.tbl_keys(of)
  table.sort(names)
  return names
end

return M

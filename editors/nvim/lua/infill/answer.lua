--- Reads a server's answers.
local place = require('infill.place')

local M = {}

--- The items as texts to insert at the cursor; nil if they are of another kind, which Neovim handles alone.
---@param items lsp.InlineCompletionItem[]
---@param from infill.Place
---@param client vim.lsp.Client
---@return infill.Ghost?
function M.ghost_of(items, from, client)
  local texts, commands = {}, {}
  for i, item in ipairs(items) do
    local range, text = item.range, item.insertText
    if type(text) ~= 'string' or not range or range.start.line ~= from.row or range['end'].line ~= from.row then
      return nil
    end
    local line = from.left .. from.right
    local first = place.column(line, range.start.character, client.offset_encoding)
    local last = place.column(line, range['end'].character, client.offset_encoding)
    -- Lines of a buffer have no carriage returns, whatever line ends the file has.
    text = text:gsub('\r\n?', '\n')
    local standing = line:sub(first + 1, last)
    if last ~= #from.left or not vim.startswith(text, standing) then
      return nil
    end
    texts[i], commands[i] = text:sub(#standing + 1), item.command or false
  end
  return { from = from, texts = texts, commands = commands, typed = '', client = client, draw = function() end }
end

return M

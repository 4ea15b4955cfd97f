--- The cursor's place, and the text typed since it was elsewhere.
local M = {}

---@class infill.Place
---@field row integer 0-based
---@field left string the line's text before the cursor
---@field right string the line's text after the cursor

--- The cursor's place in a buffer; nil if the current window shows another buffer.
---@param bufnr integer
---@return infill.Place?
function M.cursor(bufnr)
  if vim.api.nvim_get_current_buf() ~= bufnr then
    return nil
  end
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local line = vim.api.nvim_get_current_line()
  return { row = row - 1, left = line:sub(1, column), right = line:sub(column + 1) }
end

--- The text typed since the cursor was at `from`; nil if anything else has happened.
---@param bufnr integer
---@param from infill.Place
---@return string?
function M.typed_since(bufnr, from)
  local now = M.cursor(bufnr)
  if not now or now.right ~= from.right or now.row < from.row then
    return nil
  end
  local first = now.row == from.row and now.left
    or vim.api.nvim_buf_get_lines(bufnr, from.row, from.row + 1, false)[1]
  if #first < #from.left or not vim.startswith(first, from.left) then
    return nil
  end
  local typed = vim.api.nvim_buf_get_text(bufnr, from.row, #from.left, now.row, #now.left, {})
  return table.concat(typed, '\n')
end

--- A place as an LSP position.
---@param place infill.Place
---@param encoding string
---@return lsp.Position
function M.position(place, encoding)
  return { line = place.row, character = vim.str_utfindex(place.left, encoding) }
end

--- The byte column of an LSP position in a line of the earlier text.
---@param line string
---@param character integer
---@param encoding string
---@return integer
function M.column(line, character, encoding)
  return vim.str_byteindex(line, encoding, character, false)
end

return M

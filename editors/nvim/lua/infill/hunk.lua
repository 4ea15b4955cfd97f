--- What an edit does to whole lines of a buffer, and which words change in them.
local place = require('infill.place')

local M = {}

local BREAK = '\r' -- a token that is in no line
local MOST_PAIRS = 250000 -- of tokens that are compared; in longer texts, everything counts as changed

---@class infill.Hunk lines that become others; either may be none
---@field row integer 0-based, of the first old line, or of the line before which the new ones stand
---@field old infill.Hunk.Piece[][] by line
---@field new infill.Hunk.Piece[][] by line

---@class infill.Hunk.Piece a part of a line
---@field text string
---@field changed boolean

--- The edit as a hunk without the lines that it keeps at either end; nil if its range is not in the buffer or another
--- text stands there.
---@param bufnr integer
---@param edit infill.NextEdit.Edit
---@param encoding string
---@return infill.Hunk?
function M.of(bufnr, edit, encoding)
  local first, last = edit.range.start, edit.range['end']
  local before = vim.api.nvim_buf_get_lines(bufnr, first.line, last.line + 1, false)
  if #before == last.line - first.line then
    table.insert(before, '') -- after the line break that ends the last line
  end
  if #before ~= last.line - first.line + 1 then
    return nil
  end
  local left = before[1]:sub(1, place.column(before[1], first.character, encoding))
  local right = before[#before]:sub(place.column(before[#before], last.character, encoding) + 1)
  if table.concat(before, '\n') ~= left .. M._plain(edit.oldText) .. right then
    return nil
  end
  local row, after = first.line, vim.split(left .. M._plain(edit.newText) .. right, '\n', { plain = true })
  while #before > 0 and before[1] == after[1] do
    table.remove(before, 1)
    table.remove(after, 1)
    row = row + 1
  end
  while #before > 0 and before[#before] == after[#after] do
    table.remove(before)
    table.remove(after)
  end
  local old, new = M._pieces(before, after)
  return { row = row, old = old, new = new }
end

--- Lines of a buffer have no carriage returns, whatever line ends the file has.
---@param text string
---@return string
function M._plain(text)
  return (text:gsub('\r\n', '\n'))
end

--- Both texts by line, each line divided where changed words begin and end.
---@param before string[]
---@param after string[]
---@return infill.Hunk.Piece[][], infill.Hunk.Piece[][]
function M._pieces(before, after)
  local old, new = M._tokens(before), M._tokens(after)
  local in_old, in_new = {}, {} ---@type table<integer, true>, table<integer, true>
  if #old * #new <= MOST_PAIRS then
    M._keep(old, new, in_old, in_new)
  end
  return M._lines(old, in_old, #before), M._lines(new, in_new, #after)
end

--- Marks the tokens that both texts have in the same order, as many letters as possible.
---@param old string[]
---@param new string[]
---@param in_old table<integer, true> is filled, by the number of a token
---@param in_new table<integer, true>
function M._keep(old, new, in_old, in_new)
  local best = {} ---@type table<integer, integer[]> letters kept from these two tokens on
  for i = #old + 1, 1, -1 do
    best[i] = {}
    for j = #new + 1, 1, -1 do
      if i > #old or j > #new then
        best[i][j] = 0
      elseif old[i] == new[j] then
        best[i][j] = best[i + 1][j + 1] + (old[i]:find('^%s') and 1 or #old[i])
      else
        best[i][j] = math.max(best[i + 1][j], best[i][j + 1])
      end
    end
  end
  local i, j = 1, 1
  while i <= #old and j <= #new do
    if old[i] == new[j] then
      in_old[i], in_new[j] = true, true
      i, j = i + 1, j + 1
    elseif best[i + 1][j] >= best[i][j + 1] then
      i = i + 1
    else
      j = j + 1
    end
  end
end

--- Words, runs of blanks, other characters, and BREAK between lines. Non-ASCII bytes count as word characters.
---@param lines string[]
---@return string[]
function M._tokens(lines)
  local tokens = {}
  for i, line in ipairs(lines) do
    if i > 1 then
      table.insert(tokens, BREAK)
    end
    while line ~= '' do
      local token = line:match('^[%w_\128-\255]+') or line:match('^%s+') or line:sub(1, 1)
      table.insert(tokens, token)
      line = line:sub(#token + 1)
    end
  end
  return tokens
end

---@param tokens string[]
---@param kept table<integer, true> by the number of a token
---@param count integer of lines
---@return infill.Hunk.Piece[][]
function M._lines(tokens, kept, count)
  local lines = count > 0 and { {} } or {}
  for i, token in ipairs(tokens) do
    local line = lines[#lines]
    local piece = line[#line]
    local is_changed = not kept[i]
    if token:find('^%s') and i < #tokens then
      -- Indentation belongs to the first word, and blanks between changed words belong to them.
      local starts = i == 1 or tokens[i - 1] == BREAK
      is_changed = not kept[i + 1] and (starts or not kept[i - 1]) or not (starts or kept[i])
    end
    if token == BREAK then
      table.insert(lines, {})
    elseif piece and piece.changed == is_changed then
      piece.text = piece.text .. token
    else
      table.insert(line, { text = token, changed = is_changed })
    end
  end
  return lines
end

return M

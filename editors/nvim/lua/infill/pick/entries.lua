--- The entries of the list: finished candidates, or the rows of a canvas that is still being denoised.
local M = {}

local UNDECIDED = '░' -- drawn for a slot that is still open
local WIDEST = 60 -- columns of a label's text

---@class infill.Entry
---@field text string the text to insert
---@field chunks [string, string][] the same with highlights, for the preview
---@field confidence? number
---@field milliseconds? number
---@field partial? boolean
---@field unfinished? boolean whether it is still being denoised: nothing to insert yet
---@field command? lsp.Command

--- Text as it can be drawn: an unfinished text may contain control characters.
---@param text string
---@return string
local function drawable(text)
  return (text:gsub('[%z\1-\8\11-\31\127]', '·'))
end

---@param answer infill.Answer
---@return infill.Entry[]
function M.of_answer(answer)
  return vim
    .iter(answer.candidates)
    :map(function(candidate)
      local text = candidate.insertText:gsub('\r\n?', '\n')
      local function given(value)
        return value ~= vim.NIL and value or nil
      end
      return {
        text = text,
        chunks = { { drawable(text), 'ComplHint' } },
        confidence = given(candidate.confidence),
        milliseconds = answer.elapsedMs,
        partial = given(candidate.partial),
        command = given(candidate.command),
      }
    end)
    :totable()
end

--- A row of the canvas. At an open slot, the preview shows the engine's present guess dimmed; the list shows only that
--- the slot is open.
---@param row infill.CanvasRow
---@return infill.Entry
function M.of_row(row)
  local chunks, text = {}, {}
  for _, slot in ipairs(row.slots or {}) do
    local said = drawable((tostring(slot.text):gsub('\r\n?', '\n')))
    local open = slot.state == 'open'
    table.insert(chunks, open and { said == '' and UNDECIDED or said, 'InfillOpen' } or { said, 'ComplHint' })
    table.insert(text, open and UNDECIDED or said)
  end
  return { text = table.concat(text), chunks = chunks, unfinished = true }
end

--- One line: the text's first line, the number of further lines, its confidence and its time.
---@param entry infill.Entry
---@return string
function M.label(entry)
  local first = M.first_line(entry)
  return vim.trim(('%s  %s'):format(first, M.meta(entry)))
end

---@param entry infill.Entry
---@return string
function M.first_line(entry)
  local lines = vim.split(drawable(vim.trim(entry.text)), '\n', { plain = true })
  local first = lines[1]:gsub('\t', '  ')
  if vim.fn.strdisplaywidth(first) > WIDEST then
    first = vim.fn.strcharpart(first, 0, WIDEST - 1) .. '…'
  end
  return first .. (#lines > 1 and (' ⏎ +%d'):format(#lines - 1) or '') .. (entry.partial and ' …' or '')
end

---@param entry infill.Entry
---@return string
function M.meta(entry)
  local parts = {}
  if entry.confidence then
    table.insert(parts, ('%d %%'):format(math.floor(100 * entry.confidence + 0.5)))
  end
  if entry.milliseconds then
    table.insert(parts, ('%.0f ms'):format(entry.milliseconds))
  end
  return table.concat(parts, ' · ')
end

return M

--- Shows a next edit in place, without changing the buffer.
---
--- The words that change are highlighted. Where one line stays one line, its end shows the new words, so no text is
--- shifted. Otherwise the new lines are drawn below the old ones.
local hunks = require('infill.hunk')
local place = require('infill.place')

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace('infill.next_edit')
local LONGEST = 60 -- characters shown of a new text at the end of a line

vim.api.nvim_set_hl(0, 'InfillNextEditOld', { default = true, link = 'DiffDelete' })
vim.api.nvim_set_hl(0, 'InfillNextEditNew', { default = true, link = 'DiffAdd' })
vim.api.nvim_set_hl(0, 'InfillNextEditLine', { default = true, link = 'DiffChange' })
vim.api.nvim_set_hl(0, 'InfillNextEditHint', { default = true, link = 'Comment' })

--- Shows a proposal in place of the one that is shown. `hint` stands at the end of its first line.
---@param bufnr integer
---@param edits infill.NextEdit.Edit[]
---@param hint string
---@param encoding string
function M.draw(bufnr, edits, hint, encoding)
  M.clear(bufnr)
  for number, edit in ipairs(edits) do
    local hunk = hunks.of(bufnr, edit, encoding)
    if hunk then
      M._draw_hunk(bufnr, hunk, number == 1 and { { '  ' .. hint, 'InfillNextEditHint' } } or {})
    end
  end
end

---@param bufnr integer
function M.clear(bufnr)
  if vim.api.nvim_buf_is_loaded(bufnr) then
    vim.api.nvim_buf_clear_namespace(bufnr, NAMESPACE, 0, -1)
  end
end

--- A text as it is shown on one line.
---@param text string
---@return string
function M.one_line(text)
  local line = vim.trim(text):gsub('%s*\r?\n%s*', ' ')
  return vim.fn.strchars(line) > LONGEST and vim.fn.strcharpart(line, 0, LONGEST) .. '…' or line
end

--- The byte column of a position in a buffer.
---@param bufnr integer
---@param position lsp.Position
---@param encoding string
---@return integer
function M.column(bufnr, position, encoding)
  local line = vim.api.nvim_buf_get_lines(bufnr, position.line, position.line + 1, false)[1] or ''
  return place.column(line, position.character, encoding)
end

--- Scrolls the current window if lines that are drawn at the cursor's place are below its end.
---@param bufnr integer
---@param edit infill.NextEdit.Edit
---@param encoding string
function M.reveal(bufnr, edit, encoding)
  local hunk = hunks.of(bufnr, edit, encoding)
  if not hunk or #hunk.new < 2 then
    return
  end
  local last = vim.fn.screenpos(0, math.max(1, hunk.row + #hunk.old), 1).row - vim.fn.win_screenpos(0)[1] + 1
  if last < 1 or last + #hunk.new > vim.api.nvim_win_get_height(0) then
    vim.cmd.normal({ 'zz', bang = true })
  end
end

---@param bufnr integer
---@param hunk infill.Hunk
---@param hint [string, string][]
function M._draw_hunk(bufnr, hunk, hint)
  local function mark(row, column, options)
    vim.api.nvim_buf_set_extmark(bufnr, NAMESPACE, row, column, options)
  end
  local in_line = #hunk.old == 1 and #hunk.new == 1
  for i, pieces in ipairs(hunk.old) do
    local row, column = hunk.row + i - 1, 0
    for _, piece in ipairs(pieces) do
      local finish = column + #piece.text
      if piece.changed or not in_line then
        local highlight = piece.changed and 'InfillNextEditOld' or 'InfillNextEditLine'
        mark(row, column, { end_col = finish, hl_group = highlight })
      end
      column = finish
    end
  end
  local first = math.max(0, #hunk.old > 0 and hunk.row or hunk.row - 1)
  local words = in_line and M._words(hunk.new[1]) or {}
  mark(first, 0, { virt_text = vim.list_extend(words, hint), virt_text_pos = 'eol' })
  if not in_line and #hunk.new > 0 then
    local above = hunk.row == 0 and #hunk.old == 0
    local lines = vim.iter(hunk.new):map(M._chunks):totable()
    local last = math.max(0, hunk.row + #hunk.old - 1)
    mark(last, 0, { virt_lines = lines, virt_lines_above = above, virt_lines_overflow = 'scroll' })
    if above then
      M._scroll_above(bufnr, #lines)
    end
  end
end

--- The text from the first changed word of a new line to the last one; none if words were only removed.
---@param pieces infill.Hunk.Piece[]
---@return [string, string][]
function M._words(pieces)
  local first, last
  for i, piece in ipairs(pieces) do
    if piece.changed then
      first, last = first or i, i
    end
  end
  if not first then
    return {}
  end
  local chunks = M._chunks(vim.list_slice(pieces, first, last))
  local text = vim
    .iter(chunks)
    :map(function(chunk)
      return chunk[1]
    end)
    :join('')
  if vim.fn.strchars(text) > LONGEST then
    chunks = { { M.one_line(text), 'InfillNextEditNew' } }
  end
  return vim.list_extend({ { '  -> ', 'InfillNextEditNew' } }, chunks)
end

---@param pieces infill.Hunk.Piece[]
---@return [string, string][]
function M._chunks(pieces)
  local chunks = vim
    .iter(pieces)
    :map(function(piece)
      return { piece.text, piece.changed and 'InfillNextEditNew' or 'InfillNextEditLine' }
    end)
    :totable()
  return #chunks > 0 and chunks or { { ' ', 'InfillNextEditNew' } }
end

--- Neovim does not scroll by itself to lines that are drawn above the first one.
---@param bufnr integer
---@param count integer
function M._scroll_above(bufnr, count)
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    vim.api.nvim_win_call(window, function()
      if vim.fn.line('w0') == 1 then
        vim.fn.winrestview({ topfill = count })
      end
    end)
  end
end

return M

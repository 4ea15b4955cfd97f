--- Shows a candidate as ghost text in place, without changing the buffer.
local M = {}

local namespace = vim.api.nvim_create_namespace('infill.preview')

vim.api.nvim_set_hl(0, 'InfillOpen', { link = 'NonText', default = true })
vim.api.nvim_set_hl(0, 'InfillReplaced', { link = 'DiffDelete', default = true })

---@param hole infill.Hole
---@param entry? infill.Entry
function M.show(hole, entry)
  M.clear(hole.bufnr)
  if not entry or vim.api.nvim_buf_get_changedtick(hole.bufnr) ~= hole.tick then
    return
  end
  if not vim.deep_equal(hole.start, hole.finish) then
    vim.api.nvim_buf_set_extmark(hole.bufnr, namespace, hole.start[1], hole.start[2], {
      end_row = hole.finish[1],
      end_col = hole.finish[2],
      hl_group = 'InfillReplaced',
    })
  end
  local lines = M._lines(entry.chunks)
  vim.api.nvim_buf_set_extmark(hole.bufnr, namespace, hole.finish[1], hole.finish[2], {
    virt_text = lines[1],
    virt_text_pos = 'inline',
    virt_lines = vim.list_slice(lines, 2),
    hl_mode = 'replace',
  })
end

---@param bufnr integer
function M.clear(bufnr)
  if vim.api.nvim_buf_is_valid(bufnr) then
    vim.api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
  end
end

--- The text around the hole with the candidate in it, for a picker with a preview window.
---@param hole infill.Hole
---@param entry infill.Entry
---@return { buf: integer, pos: [integer, integer] }
function M.buffer(hole, entry)
  local lines = vim.api.nvim_buf_get_lines(hole.bufnr, hole.start[1], hole.finish[1] + 1, false)
  local after = lines[#lines]:sub(hole.finish[2] + 1)
  local text = lines[1]:sub(1, hole.start[2]) .. entry.text .. after
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].modifiable = true -- also where 'nomodifiable' is the default
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(text, '\n', { plain = true }))
  vim.bo[buffer].bufhidden = 'wipe'
  -- Not 'filetype', which would start plugins.
  vim.bo[buffer].syntax = vim.bo[hole.bufnr].filetype
  return { buf = buffer, pos = { 1, 0 } }
end

---@param chunks [string, string][] which may contain line breaks
---@return [string, string][][] the chunks of each line
function M._lines(chunks)
  local lines = { {} }
  for _, chunk in ipairs(chunks) do
    for i, part in ipairs(vim.split(chunk[1], '\n', { plain = true })) do
      if i > 1 then
        table.insert(lines, {})
      end
      table.insert(lines[#lines], { part, chunk[2] })
    end
  end
  return lines
end

return M

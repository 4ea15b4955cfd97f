--- Accepting ghost text: all of it, a word, or a line. Each is a separate undo step.
local ghost = require('infill.ghost')
local keys = require('infill.keys')
local stats = require('infill.stats')

local M = {}

local DISMISSED = 'infill.dismissed'

---@alias infill.Part 'all'|'word'|'line'

local patched = false
---@type fun()? runs once the previous undo step has ended
local waiting

--- False if there is no ghost text that still fits.
---@param part infill.Part
---@return boolean
function M.accept(part)
  local bufnr = vim.api.nvim_get_current_buf()
  local rest = ghost.rest(bufnr)
  if rest and part == 'all' and M._indents(rest) then
    return false
  elseif rest then
    M.as_undo_step(function()
      M._insert(bufnr, part)
    end)
    return true
  elseif ghost.is_foreign(bufnr) then
    return vim.lsp.inline_completion.get({ bufnr = bufnr })
  end
  ghost.clear(bufnr)
  return false
end

--- Whether Neovim's own accept function leaves just-typed characters behind, because it inserts the text where the text
--- began.
---@return boolean
function M.leaves_typed_behind()
  return vim.fn.has('nvim-0.13') == 0
end

--- Makes Neovim's own accept function insert only the missing part, for users who have mapped it.
function M.patch_own()
  local get = vim.lsp.inline_completion.get
  if patched or not M.leaves_typed_behind() then
    return
  end
  patched = true
  ---@diagnostic disable-next-line: duplicate-set-field
  vim.lsp.inline_completion.get = function(options)
    local bufnr = options and options.bufnr or 0
    ghost.catch_up(bufnr ~= 0 and bufnr or vim.api.nvim_get_current_buf())
    return get(options)
  end
end

--- False if there was no ghost text.
---@return boolean
function M.dismiss()
  local bufnr = vim.api.nvim_get_current_buf()
  local shown, command, client = ghost.rest(bufnr)
  ghost.clear(bufnr)
  if shown then
    stats.count('dismissed')
  end
  if command and client then
    -- A server that does not know it answers with an error, which does not concern the user.
    local params = { command = DISMISSED, arguments = command.arguments }
    client:request('workspace/executeCommand', params, function() end, bufnr)
  end
  return shown ~= nil
end

--- Changes the text in insert mode so that one undo reverts this change and nothing else.
---@param change fun()
function M.as_undo_step(change)
  waiting = change
  -- By keys, because only CTRL-G u breaks the undo sequence within an insertion, and because the text is locked in an
  -- <expr> mapping.
  keys.feed('<C-g>u<Cmd>lua require("infill.accept")._run()<CR><C-g>u')
end

--- Replaces a range by text and puts the cursor after it.
---@param bufnr integer
---@param start [integer, integer] row and byte column, 0-based
---@param finish [integer, integer]
---@param text string
function M.put(bufnr, start, finish, text)
  local lines = vim.split(text, '\n', { plain = true })
  vim.api.nvim_buf_set_text(bufnr, start[1], start[2], finish[1], finish[2], lines)
  local column = #lines[#lines] + (#lines == 1 and start[2] or 0)
  vim.api.nvim_win_set_cursor(0, { start[1] + #lines, column })
end

function M._run()
  local change = waiting
  waiting = nil
  if change then
    change()
  end
end

---@param bufnr integer
---@param part infill.Part
function M._insert(bufnr, part)
  local rest, command, client = ghost.rest(bufnr)
  if not rest then
    return
  end
  local text = M._first(part, rest)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local here = { row - 1, column }
  if text ~= rest then
    M.put(bufnr, here, here, text)
    ghost.follow(bufnr)
    return stats.count('accepted_in_part')
  end
  ghost.clear(bufnr)
  M.put(bufnr, here, here, text)
  stats.count('accepted')
  if command and client then
    client:exec_cmd(command, { bufnr = bufnr })
  end
end

--- Whether the cursor is in the indentation and the text begins with at least as many blanks as a tab types.
---@param text string
---@return boolean
function M._indents(text)
  local column = vim.api.nvim_win_get_cursor(0)[2]
  local left = vim.api.nvim_get_current_line():sub(1, column)
  local blanks = text:match('^[ \t]+')
  if not blanks or left:find('%S') then
    return false
  end
  return vim.fn.strdisplaywidth(blanks, vim.fn.strdisplaywidth(left)) >= vim.fn.shiftwidth()
end

---@param part infill.Part
---@param text string
---@return string
function M._first(part, text)
  if part == 'word' then
    -- A run of word characters or of others, with the blanks before it. Non-ASCII bytes count as word characters.
    return text:match('^%s*[%w_\128-\255]+') or text:match('^%s*[^%w_%s\128-\255]+') or text
  elseif part == 'line' then
    return text:match('^\n*[^\n]*')
  end
  return text
end

return M

--- Next edits: requested after a pause, shown in place, applied as one undo step.
---
--- Highlights mark the text to be replaced, and the end of the line shows the new text, so no text is shifted. The
--- first press of the key goes to the nearest place, and the next one applies the proposal.
local accept = require('infill.accept')
local place = require('infill.place')
local server = require('infill.server')

local M = {}

local METHOD = 'infill/nextEdit'
local NAMESPACE = vim.api.nvim_create_namespace('infill.next_edit')
local PAUSE_MS = { n = 60, i = 350 } -- after a change, by mode
local LONGEST = 60 -- characters shown of a new text

vim.api.nvim_set_hl(0, 'InfillNextEditOld', { default = true, link = 'DiffText' })
vim.api.nvim_set_hl(0, 'InfillNextEditNew', { default = true, link = 'DiffAdd' })
vim.api.nvim_set_hl(0, 'InfillNextEditHint', { default = true, link = 'Comment' })

---@class infill.NextEdit.Edit
---@field range lsp.Range
---@field oldText string
---@field newText string

---@class infill.NextEdit.Proposal
---@field id string
---@field label string
---@field confidence number
---@field edits infill.NextEdit.Edit[]

---@class infill.NextEdit.Shown
---@field proposals infill.NextEdit.Proposal[]
---@field chosen integer
---@field tick integer of the text that the ranges refer to
---@field encoding string

---@type table<integer, infill.NextEdit.Shown> by buffer
local shown = {}

local timer = assert(vim.uv.new_timer())
local newest = 0 -- number of the newest request; answers to older ones are dropped

--- The text has changed, or insert mode was left: the proposals may no longer fit.
---@param bufnr integer
function M.follow(bufnr)
  local now = shown[bufnr]
  if now and now.tick ~= vim.api.nvim_buf_get_changedtick(bufnr) then
    M.hide(bufnr)
  end
  newest = newest + 1
  local question = newest
  local mode = vim.api.nvim_get_mode().mode:sub(1, 1)
  timer:start(
    PAUSE_MS[mode] or PAUSE_MS.i,
    0,
    vim.schedule_wrap(function()
      if question == newest then
        M.ask(bufnr)
      end
    end)
  )
end

--- Asks the server at the cursor, and shows the answer.
---@param bufnr integer
function M.ask(bufnr)
  local here = place.cursor(bufnr)
  local client = here and server.of(bufnr)
  local mode = vim.api.nvim_get_mode().mode:sub(1, 1)
  if not here or not client or not (mode == 'n' or mode == 'i') or vim.snippet.active() then
    return
  end
  newest = newest + 1
  local question = newest
  local tick = vim.api.nvim_buf_get_changedtick(bufnr)
  client:request(METHOD, {
    textDocument = vim.lsp.util.make_text_document_params(bufnr),
    position = place.position(here, client.offset_encoding),
  }, function(fault, answer)
    if question ~= newest or fault or not vim.api.nvim_buf_is_loaded(bufnr) then
      return
    end
    if tick ~= vim.api.nvim_buf_get_changedtick(bufnr) then
      return
    end
    M.hide(bufnr)
    if answer and #answer.proposals > 0 then
      shown[bufnr] = { proposals = answer.proposals, chosen = 1, tick = tick, encoding = client.offset_encoding }
      M._draw(bufnr)
    end
  end, bufnr)
end

--- The first press goes to the nearest place, the next one applies. False if nothing is shown.
---@return boolean
function M.jump_or_accept()
  local bufnr = vim.api.nvim_get_current_buf()
  local now = M.current(bufnr)
  if not now then
    return false
  end
  local proposal = now.proposals[now.chosen]
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local nearest = proposal.edits[1]
  for _, edit in ipairs(proposal.edits) do
    if math.abs(edit.range.start.line - row) < math.abs(nearest.range.start.line - row) then
      nearest = edit
    end
  end
  if now.jumped or nearest.range.start.line == row then
    M._accept(bufnr, now)
  else
    now.jumped = true
    vim.cmd.normal({ "m'", bang = true }) -- CTRL-O leads back
    vim.api.nvim_win_set_cursor(0, { nearest.range.start.line + 1, M._column(bufnr, nearest.range.start, now.encoding) })
  end
  return true
end

--- Applies the proposal that is shown without moving the cursor. False if nothing is shown.
---@return boolean
function M.accept()
  local bufnr = vim.api.nvim_get_current_buf()
  local now = M.current(bufnr)
  if now then
    M._accept(bufnr, now)
  end
  return now ~= nil
end

--- Dismisses the proposals of the buffer for good. False if nothing is shown.
---@return boolean
function M.dismiss()
  local bufnr = vim.api.nvim_get_current_buf()
  local client = server.of(bufnr)
  local was_shown = shown[bufnr] ~= nil
  if was_shown and client then
    client:notify('infill/didDismissNextEdit', { textDocument = { uri = vim.uri_from_bufnr(bufnr) } })
  end
  M.hide(bufnr)
  return was_shown
end

--- Lists the proposals, shows the highlighted one in place, and applies the chosen one. False if nothing is shown.
---@return boolean
function M.pick()
  local bufnr = vim.api.nvim_get_current_buf()
  local now = M.current(bufnr)
  if not now then
    return false
  end
  local function take(_, index)
    if index and M.current(bufnr) == now then
      now.chosen = index
      M._accept(bufnr, now)
    end
  end
  if require('infill.pick')._selects() then
    vim.ui.select(now.proposals, {
      prompt = 'Next edit',
      format_item = function(proposal)
        local edit = proposal.edits[1]
        return ('%s: %s -> %s'):format(proposal.label, M._one_line(edit.oldText), M._one_line(edit.newText))
      end,
    }, take)
  else
    M._list(bufnr, now, take)
  end
  return true
end

--- The number of places that the shown proposal changes; 0 if none is shown.
---@param bufnr integer
---@return integer
function M.places(bufnr)
  local now = M.current(bufnr == 0 and vim.api.nvim_get_current_buf() or bufnr)
  return now and #now.proposals[now.chosen].edits or 0
end

--- The proposals that are shown in a buffer and still fit; nil if there are none.
---@param bufnr integer
---@return infill.NextEdit.Shown?
function M.current(bufnr)
  local now = shown[bufnr]
  if now and now.tick == vim.api.nvim_buf_get_changedtick(bufnr) then
    return now
  end
  M.hide(bufnr)
end

---@param bufnr integer
function M.hide(bufnr)
  shown[bufnr] = nil
  if vim.api.nvim_buf_is_loaded(bufnr) then
    vim.api.nvim_buf_clear_namespace(bufnr, NAMESPACE, 0, -1)
  end
end

--- The buffer is no longer served.
---@param bufnr integer
function M.detach(bufnr)
  timer:stop()
  newest = newest + 1
  M.hide(bufnr)
end

--- Our own list: it shows the highlighted proposal in place, with removed text struck out.
---@param bufnr integer
---@param now infill.NextEdit.Shown
---@param take fun(_: any, index: integer)
function M._list(bufnr, now, take)
  local chosen = now.chosen
  local cursor = vim.api.nvim_win_get_cursor(0)
  local function redraw(index)
    if M.current(bufnr) == now then
      now.chosen = index
      M._draw(bufnr)
    end
  end
  local menu = require('infill.pick.menu').open({
    bufnr = bufnr,
    window = vim.api.nvim_get_current_win(),
    tick = now.tick,
    start = { cursor[1] - 1, cursor[2] },
    inserting = vim.startswith(vim.api.nvim_get_mode().mode, 'i'),
  }, {
    moved = redraw,
    chosen = function(index)
      take(nil, index)
    end,
    left = function()
      redraw(chosen)
    end,
  })
  menu.set(vim
    .iter(now.proposals)
    :map(function(proposal)
      return { text = proposal.label, chunks = {}, confidence = proposal.confidence }
    end)
    :totable())
end

---@param bufnr integer
---@param now infill.NextEdit.Shown
function M._accept(bufnr, now)
  local proposal = now.proposals[now.chosen]
  local function apply()
    if now.tick ~= vim.api.nvim_buf_get_changedtick(bufnr) or not M._fits(bufnr, proposal, now.encoding) then
      return M.hide(bufnr)
    end
    M.hide(bufnr)
    local edits = {}
    for _, edit in ipairs(proposal.edits) do
      table.insert(edits, { range = edit.range, newText = edit.newText })
    end
    vim.lsp.util.apply_text_edits(edits, bufnr, now.encoding)
    local client = server.of(bufnr)
    if client then
      client:notify('infill/didAcceptNextEdit', { textDocument = { uri = vim.uri_from_bufnr(bufnr) }, id = proposal.id })
    end
    M.follow(bufnr)
  end
  if vim.api.nvim_get_mode().mode:sub(1, 1) == 'i' then
    accept.as_undo_step(apply)
  else
    apply()
  end
end

--- Whether the text in every range is still the one the proposal was made for.
---@param bufnr integer
---@param proposal infill.NextEdit.Proposal
---@param encoding string
---@return boolean
function M._fits(bufnr, proposal, encoding)
  for _, edit in ipairs(proposal.edits) do
    local first, last = edit.range.start, edit.range['end']
    local ok, lines = pcall(
      vim.api.nvim_buf_get_text,
      bufnr,
      first.line,
      M._column(bufnr, first, encoding),
      last.line,
      M._column(bufnr, last, encoding),
      {}
    )
    if not ok or table.concat(lines, '\n') ~= edit.oldText:gsub('\r\n', '\n') then
      return false
    end
  end
  return true
end

---@param bufnr integer
function M._draw(bufnr)
  local now = shown[bufnr]
  local proposal = now.proposals[now.chosen]
  vim.api.nvim_buf_clear_namespace(bufnr, NAMESPACE, 0, -1)
  local others = #now.proposals > 1 and (' (%d/%d)'):format(now.chosen, #now.proposals) or ''
  for number, edit in ipairs(proposal.edits) do
    local first, last = edit.range.start, edit.range['end']
    local row, column = first.line, M._column(bufnr, first, now.encoding)
    local finish = { last.line, M._column(bufnr, last, now.encoding) }
    local text = { { '  -> ' .. M._one_line(edit.newText), 'InfillNextEditNew' } }
    if number == 1 then
      table.insert(text, { ('  %s%s'):format(proposal.label, others), 'InfillNextEditHint' })
    end
    vim.api.nvim_buf_set_extmark(bufnr, NAMESPACE, row, column, {
      end_row = finish[1],
      end_col = finish[2],
      hl_group = 'InfillNextEditOld',
      virt_text = text,
      virt_text_pos = 'eol',
      strict = false,
    })
  end
end

---@param bufnr integer
---@param position lsp.Position
---@param encoding string
---@return integer
function M._column(bufnr, position, encoding)
  local line = vim.api.nvim_buf_get_lines(bufnr, position.line, position.line + 1, false)[1] or ''
  return place.column(line, position.character, encoding)
end

---@param text string
---@return string
function M._one_line(text)
  local line = vim.trim(text):gsub('%s*\r?\n%s*', ' ')
  return vim.fn.strchars(line) > LONGEST and vim.fn.strcharpart(line, 0, LONGEST) .. '…' or line
end

return M

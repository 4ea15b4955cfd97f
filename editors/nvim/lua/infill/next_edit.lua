--- Next edits: requested after a pause, shown in place, applied as one undo step.
---
--- The first press of the key goes to the nearest place, and the next one applies the proposal.
local accept = require('infill.accept')
local hunks = require('infill.hunk')
local place = require('infill.place')
local server = require('infill.server')
local view = require('infill.next_edit_view')

local M = {}

local METHOD = 'infill/nextEdit'
local PAUSE_MS = { n = 60, i = 350 } -- after a change, by mode
local PASSING = { stale = true, superseded = true, cancelled = true } -- reasons after which another answer comes

---@class infill.NextEdit.Edit
---@field range lsp.Range
---@field oldText string
---@field newText string

---@class infill.NextEdit.Proposal
---@field id string
---@field kind string
---@field label string
---@field confidence number
---@field edits infill.NextEdit.Edit[]

---@class infill.NextEdit.Shown
---@field proposals infill.NextEdit.Proposal[]
---@field chosen integer
---@field jumped? boolean the key has been pressed once
---@field tick integer of the text that the ranges refer to
---@field encoding string

--- An answer without a proposal.
---@class infill.NextEdit.Silence
---@field reason string
---@field explanation? infill.Explanation

---@type table<integer, infill.NextEdit.Shown> by buffer
local shown = {}

---@type table<integer, infill.NextEdit.Silence> by buffer
local silences = {}

---@class infill.NextEdit.Error
---@field line integer
---@field message string

---@type table<integer, { tick: integer, errors: infill.NextEdit.Error[] }> by buffer: what the server was last asked with
local questions = {}

local timer = assert(vim.uv.new_timer())
local newest = 0 -- number of the newest request; answers to older ones are dropped

--- The errors that other servers report in a buffer.
---@param bufnr integer
---@return infill.NextEdit.Error[]
local function errors_in(bufnr)
  return vim
    .iter(vim.diagnostic.get(bufnr, { severity = vim.diagnostic.severity.ERROR }))
    :map(function(found)
      return { line = found.lnum, message = found.message }
    end)
    :totable()
end

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

--- The diagnostics of a buffer have changed: asks again if the last answer knew other errors and nothing is shown.
---@param bufnr integer
function M.diagnosed(bufnr)
  local last = questions[bufnr]
  if
    last
    and bufnr == vim.api.nvim_get_current_buf()
    and last.tick == vim.api.nvim_buf_get_changedtick(bufnr)
    and not M.current(bufnr)
    and not vim.deep_equal(last.errors, errors_in(bufnr))
  then
    M.ask(bufnr)
  end
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
  questions[bufnr] = { tick = tick, errors = errors_in(bufnr) }
  local document = vim.lsp.util.make_text_document_params(bufnr)
  document.version = vim.lsp.util.buf_versions[bufnr]
  client:request(METHOD, {
    textDocument = document,
    position = place.position(here, client.offset_encoding),
    errors = questions[bufnr].errors,
  }, function(fault, answer)
    if question ~= newest or fault or not vim.api.nvim_buf_is_loaded(bufnr) then
      return
    end
    if tick ~= vim.api.nvim_buf_get_changedtick(bufnr) then
      return
    end
    M.hide(bufnr)
    silences[bufnr] = answer and not PASSING[answer.reason] and answer.reason ~= vim.NIL and answer or nil
    if answer and #answer.proposals > 0 then
      shown[bufnr] = { proposals = answer.proposals, chosen = 1, tick = tick, encoding = client.offset_encoding }
      M._draw(bufnr)
    end
    require('infill.status').changed()
  end, bufnr)
end

--- The settings have changed: hides what is shown and asks again.
function M.renew()
  local bufnr = vim.api.nvim_get_current_buf()
  M.hide(bufnr)
  M.ask(bufnr)
end

--- The notification infill/lateNextEdit: the model has found something after the answer. Asks again if nothing has
--- changed and nothing is shown.
---@param params { uri: string, version: integer }
function M.late(params)
  local bufnr = vim.api.nvim_get_current_buf()
  if
    params.uri == vim.uri_from_bufnr(bufnr)
    and params.version == vim.lsp.util.buf_versions[bufnr]
    and not M.current(bufnr)
  then
    M.ask(bufnr)
  end
end

--- The first press goes to the nearest place, the next one applies. False if nothing is shown.
---@param by_tab? boolean the key indents where only blanks are left of the cursor, except after the first press
---@return boolean
function M.jump_or_accept(by_tab)
  local bufnr = vim.api.nvim_get_current_buf()
  local now = M.current(bufnr)
  local column = vim.api.nvim_win_get_cursor(0)[2]
  local indents = by_tab and not vim.api.nvim_get_current_line():sub(1, column):find('%S')
  if not now or (indents and not now.jumped) then
    return false
  end
  local proposal = now.proposals[now.chosen]
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local function distance(edit)
    return math.max(edit.range.start.line - row, row - edit.range['end'].line, 0)
  end
  local nearest = proposal.edits[1]
  for _, edit in ipairs(proposal.edits) do
    if distance(edit) < distance(nearest) then
      nearest = edit
    end
  end
  if now.jumped or distance(nearest) == 0 then
    M._accept(bufnr, now)
  else
    now.jumped = true
    M._run(function()
      M._jump(bufnr, nearest, now.encoding)
    end)
  end
  return true
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
        return ('%s: %s -> %s'):format(proposal.label, view.one_line(edit.oldText), view.one_line(edit.newText))
      end,
    }, take)
  else
    M._list(bufnr, now, take)
  end
  return true
end

--- The proposal that is shown; nil if there is none.
---@param bufnr integer
---@return infill.NextEdit.Proposal?
function M.proposal(bufnr)
  local now = M.current(bufnr)
  return now and now.proposals[now.chosen]
end

--- The server's last answer for a buffer if it has no proposal, with the reason; nil if it has one.
---@param bufnr integer
---@return infill.NextEdit.Silence?
function M.silence(bufnr)
  return silences[bufnr]
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
  view.clear(bufnr)
end

--- The buffer is no longer served.
---@param bufnr integer
function M.detach(bufnr)
  timer:stop()
  newest = newest + 1
  silences[bufnr] = nil
  questions[bufnr] = nil
  M.hide(bufnr)
end

--- Our own list: it shows the highlighted proposal in place.
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
  M._run(function()
    if now.tick ~= vim.api.nvim_buf_get_changedtick(bufnr) or not M._fits(bufnr, proposal, now.encoding) then
      return M.hide(bufnr)
    end
    M.hide(bufnr)
    local edits = {}
    for _, edit in ipairs(proposal.edits) do
      table.insert(edits, { range = edit.range, newText = edit.newText })
    end
    vim.lsp.util.apply_text_edits(edits, bufnr, now.encoding)
    M.follow(bufnr)
  end)
end

--- Changes the text or moves the cursor. In insert mode a mapping may not do that itself.
---@param change fun()
function M._run(change)
  if vim.api.nvim_get_mode().mode:sub(1, 1) == 'i' then
    accept.as_undo_step(change)
  else
    change()
  end
end

--- Whether the text in every range is still the one the proposal was made for.
---@param bufnr integer
---@param proposal infill.NextEdit.Proposal
---@param encoding string
---@return boolean
function M._fits(bufnr, proposal, encoding)
  return vim.iter(proposal.edits):all(function(edit)
    return hunks.of(bufnr, edit, encoding) ~= nil
  end)
end

---@param bufnr integer
---@param edit infill.NextEdit.Edit
---@param encoding string
function M._jump(bufnr, edit, encoding)
  local start = edit.range.start
  local row = math.min(start.line, vim.api.nvim_buf_line_count(bufnr) - 1)
  vim.cmd.normal({ "m'", bang = true }) -- CTRL-O leads back
  vim.api.nvim_win_set_cursor(0, { row + 1, view.column(bufnr, start, encoding) })
  view.reveal(bufnr, edit, encoding)
end

---@param bufnr integer
function M._draw(bufnr)
  local now = shown[bufnr]
  local proposal = now.proposals[now.chosen]
  local others = #now.proposals > 1 and (' (%d/%d)'):format(now.chosen, #now.proposals) or ''
  view.draw(bufnr, proposal.edits, proposal.label .. others, now.encoding)
end

return M

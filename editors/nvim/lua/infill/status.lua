--- The engine's state, and why there is no suggestion.
local silence = require('infill.silence')
local stats = require('infill.stats')

local M = {}

---@class infill.Status
---@field state 'loading'|'ready'|'thinking'|'silent'|'failed'|'off'
---@field detail? string
---@field fraction? number share of the loading that is done, 0 to 1
---@field model? string
---@field device? string
---@field reason? string why nothing is shown, as the server names it
---@field last_ms? number from the last request to its answer

---@type table<string, { [1]: string, [2]: string }> a few words for a status line, and a sentence that says what helps
local REASONS = {
  blank = { 'nothing to add', 'The model found nothing worth adding here.' },
  low_confidence = { 'not sure enough', 'No candidate is confident enough for `eagerness`; `:Infill pick` lists them.' },
  one_key = { 'only one character', 'The best candidate is one character, as quick to type as to accept.' },
  deadline = { 'out of time', 'Time ran out before a candidate was finished (budgetMs, or explicitBudgetMs if you asked).' },
  deletion = { 'waits after deleting', 'Nothing is suggested right after a deletion, nor what was deleted; keep typing.' },
  undo = { 'waits after undo', 'Nothing is suggested right after undo or redo; keep typing.' },
  dismissed = { 'dismissed here', 'You dismissed the suggestion or typed past it; `:Infill pick` lists it.' },
  disabled = { 'switched off here', 'The settings `enable` or `languages` turn suggestions off here.' },
  excluded = { 'file is excluded', 'Files that tend to hold secrets or that `excludes` names are not read.' },
  unsupported = { 'file is not supported', 'This file is too large or of an unsupported kind.' },
  loading = { 'still loading', 'The model is being loaded.' },
  worker_failed = { 'the engine stopped', '`:Infill restart` starts it again.' },
  snippet = { 'a snippet is active', 'Nothing is shown until the snippet is filled in.' },
  menu = { 'the menu has another item', 'The selected item of the completion menu is not in the text.' },
}

---@type table<string, string> why there is no next edit, as the server names it and in words
local NO_NEXT_EDIT = {
  nothing_edited = 'nothing has been edited yet',
  no_consequence = 'everything still fits',
  half_written = 'the edit is still being written',
  ambiguous = 'other uses of the name may mean something else',
  low_confidence = 'not sure enough',
  dismissed = 'dismissed, or you have replaced this text yourself',
  undo = 'the last change was undone',
  bulk = 'too much changed at once',
  disabled = 'switched off here',
  excluded = 'the file is excluded',
  unsupported = 'the file is not supported',
  too_large = 'the file is too long to be sure of all places',
  loading = 'nothing is certain, and the model is still loading',
  deadline = 'nothing is certain, and the model found nothing in time',
  worker_failed = 'nothing is certain, and the engine has stopped',
  failed = 'an error; `:Infill log` names it',
}

---@type table<integer, infill.Status> by client
local told = {}
---@type table<integer, integer> by client: requests on their way
local pending = {}

--- The notification infill/status.
---@param client_id integer
---@param params table
function M.told(client_id, params)
  local function given(value)
    return value ~= vim.NIL and value ~= '' and value or nil
  end
  local was_loading = (told[client_id] or {}).state == 'loading'
  told[client_id] = {
    state = params.state,
    detail = given(params.detail),
    fraction = given(params.fraction),
    model = given(params.model),
    device = given(params.device),
    reason = given(params.reason),
    last_ms = (told[client_id] or {}).last_ms,
  }
  if was_loading and params.state == 'ready' then
    require('infill.ghost').ask(vim.api.nvim_get_current_buf())
  end
  M.changed()
end

--- A request was sent. Call the result once its answer is there.
---@param client_id integer
---@return fun()
function M.asking(client_id)
  pending[client_id] = (pending[client_id] or 0) + 1
  M.changed()
  local began = vim.uv.hrtime()
  return function()
    pending[client_id] = pending[client_id] - 1
    local took = (vim.uv.hrtime() - began) / 1e6
    stats.answered(took)
    if told[client_id] then
      told[client_id].last_ms = took
    end
    M.changed()
  end
end

--- The status of the server that serves a buffer; nil if none does.
---@param bufnr? integer
---@return infill.Status?
function M.of(bufnr)
  local client = require('infill.server').of(bufnr or 0)
  if not client then
    return nil
  end
  local status = vim.deepcopy(told[client.id] or { state = 'loading' })
  if status.state == 'ready' and (pending[client.id] or 0) > 0 then
    status.state = 'thinking'
  elseif status.state == 'ready' then
    status.reason = silence.reason() or status.reason
    status.state = status.reason and 'silent' or 'ready'
  end
  return status
end

--- A short text for a status line.
---@param bufnr? integer
---@return string
function M.text(bufnr)
  local status = M.of(bufnr)
  if not status then
    return ''
  end
  local proposal = require('infill.next_edit').proposal(bufnr or vim.api.nvim_get_current_buf())
  if proposal then
    local by = proposal.kind == 'model' and ' of the model' or ''
    return ('infill: next edit%s, %d place%s'):format(by, #proposal.edits, #proposal.edits == 1 and '' or 's')
  end
  local text = 'infill ' .. status.state
  local downloaded = require('infill.download').share()
  if downloaded then
    return ('infill downloading %d/100'):format(downloaded)
  elseif status.state == 'loading' and (status.fraction or 0) > 0 then
    -- No percent sign: some status lines take it for an item, others show an escaped one twice.
    return ('%s %d/100'):format(text, math.floor(100 * status.fraction + 0.5))
  elseif status.state == 'silent' then
    return text .. ': ' .. M.why(status.reason)
  end
  return text
end

--- The reason for an empty answer in a few words.
---@param reason string as the server calls it
---@return string
function M.why(reason)
  return (REASONS[reason] or { reason })[1]
end

--- The lines of `:Infill status`.
---@param bufnr? integer
---@return string[]
function M.lines(bufnr)
  local status = M.of(bufnr)
  if not status then
    local server = require('infill.server')
    local reason = server.left_alone(bufnr or 0)
    if reason then
      return { 'infill leaves this buffer alone: ' .. reason }
    elseif server.starting() then
      return { 'infill is starting' }
    end
    return { server.missing() or 'infill does not serve this buffer: it is not enabled here' }
  end
  local lines = { M.text(bufnr) }
  if status.state == 'silent' and REASONS[status.reason] then
    table.insert(lines, REASONS[status.reason][2])
  elseif not vim.lsp.inline_completion.is_enabled({ bufnr = bufnr or 0 }) then
    table.insert(lines, 'Inline completion is off in this buffer; vim.lsp.inline_completion.enable() turns it on.')
  end
  if status.detail then
    table.insert(lines, status.detail)
  end
  table.insert(lines, require('infill.download').doing())
  table.insert(lines, ('model %s on %s'):format(status.model or '?', status.device or '?'))
  local client = assert(require('infill.server').of(bufnr or 0))
  local settings = client.settings.infill or {}
  vim.list_extend(lines, M._next_edit_lines(bufnr or vim.api.nvim_get_current_buf(), settings))
  if settings.eagerness then
    table.insert(lines, 'eagerness ' .. settings.eagerness)
  end
  if status.last_ms then
    table.insert(lines, ('last answer in %.0f ms'):format(status.last_ms))
  end
  return lines
end

--- Why the server proposes no next edit in a buffer, in a few words; nil if it does or has not been asked.
---@param bufnr integer
---@return string?
function M.why_no_next_edit(bufnr)
  local reason = require('infill.next_edit').reason(bufnr)
  return reason and (NO_NEXT_EDIT[reason] or reason)
end

---@param bufnr integer
---@param settings table<string, any>
---@return string[]
function M._next_edit_lines(bufnr, settings)
  if settings.nextEdits == false then
    return { 'next edits are off' }
  end
  local lines = { 'next edits are on' .. (settings.nextEditModel == false and '' or ', those of the model too') }
  local proposal, why = require('infill.next_edit').proposal(bufnr), M.why_no_next_edit(bufnr)
  if proposal then
    local percent = math.floor(100 * proposal.confidence + 0.5)
    table.insert(lines, ('next edit: %s (%d %%)'):format(proposal.label, percent))
  elseif why then
    table.insert(lines, 'no next edit: ' .. why)
  end
  return lines
end

--- Something that a status line shows has changed.
function M.changed()
  -- Redrawing inside a handler may interrupt another redraw.
  vim.schedule(function()
    vim.api.nvim_exec_autocmds('User', { pattern = 'InfillStatus', modeline = false })
    vim.cmd.redrawstatus()
  end)
end

return M

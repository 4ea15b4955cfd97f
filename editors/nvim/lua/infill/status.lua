--- The engine's state, and why there is no suggestion.
local silence = require('infill.silence')
local stats = require('infill.stats')

local M = {}

--- Why there is nothing, for people. Older servers send none.
---@class infill.Explanation
---@field words string
---@field sentence string

---@class infill.Status
---@field state 'loading'|'ready'|'thinking'|'silent'|'failed'|'off'
---@field detail? string
---@field fraction? number share of the loading that is done, 0 to 1
---@field model? string
---@field device? string
---@field reason? string why nothing is shown, as the server names it
---@field explanation? infill.Explanation
---@field last_ms? number from the last request to its answer

---@type table<string, string> which of our commands or settings helps, by the reason of an empty answer
local HELP = {
  low_confidence = '`:Infill pick` lists them; `eagerness` says how sure one must be.',
  one_key = '`:Infill pick` lists it.',
  deadline = '`:Infill pick` and larger values of `budgetMs` and `explicitBudgetMs` (if you ask) give the model more.',
  deletion = 'Keep typing.',
  undo = 'Keep typing.',
  dismissed = '`:Infill pick` lists it.',
  worker_failed = '`:Infill restart` starts it again.',
  failed = '`:Infill log` shows the log.',
}
---@type table<string, string> the same for next edits
local NEXT_EDIT_HELP = { failed = '`:Infill log` shows the log' }

---@type table<string, infill.Explanation> reasons that only Neovim knows
local OWN = {
  snippet = { words = 'a snippet is active', sentence = 'Nothing is shown until the snippet is filled in.' },
  menu = { words = 'the menu has another item', sentence = 'The selected item of the completion menu is not in the text.' },
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
    explanation = given(params.explanation),
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
    local own = silence.reason()
    if own then
      status.reason, status.explanation = own, OWN[own]
    end
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
    return text .. ': ' .. M.why(status)
  end
  return text
end

--- The reason of an empty answer in a few words; the bare reason if the server is older and sends no words.
---@param answer { reason?: string, explanation?: infill.Explanation }
---@return string
function M.why(answer)
  return answer.explanation and answer.explanation.words or answer.reason or 'no candidates'
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
  if status.state == 'silent' and status.explanation then
    local help = HELP[status.reason]
    table.insert(lines, status.explanation.sentence .. (help and ' ' .. help or ''))
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
  local answer = require('infill.next_edit').silence(bufnr)
  if not answer then
    return nil
  end
  local help = NEXT_EDIT_HELP[answer.reason]
  return M.why(answer) .. (help and '; ' .. help or '')
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

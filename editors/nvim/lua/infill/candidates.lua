--- The request infill/candidates: every candidate with its confidence, and the canvas while it develops.
local M = {}

local METHOD_NOT_FOUND = -32601
local INVOKED = 1 -- lsp.InlineCompletionTriggerKind

---@class infill.Candidate
---@field insertText string
---@field range? lsp.Range
---@field confidence? number probability, 0 to 1
---@field partial? boolean cut off by the deadline
---@field steps? integer number of steps behind it
---@field source? string
---@field command? lsp.Command

---@class infill.Slot
---@field text string
---@field state string 'open' while the slot is undecided
---@field confidence? number

---@class infill.CanvasRow
---@field slots infill.Slot[]
---@field source? string

---@class infill.Answer
---@field candidates infill.Candidate[]
---@field reason? string why there are none
---@field elapsedMs? number

---@type table<string, fun(rows: infill.CanvasRow[], step: integer)> by the token of a request on its way
local listeners = {}
local tokens = 0

--- Asks for the candidates at a position, or for a range to be replaced.
---@param client vim.lsp.Client
---@param bufnr integer
---@param position lsp.Position
---@param range? lsp.Range
---@param on_canvas fun(rows: infill.CanvasRow[], step: integer)
---@param on_answer fun(answer: infill.Answer)
---@return fun() withdraw the request; nothing is called any more
function M.ask(client, bufnr, position, range, on_canvas, on_answer)
  tokens = tokens + 1
  local token = 'infill-candidates-' .. tokens
  local began = vim.uv.hrtime()
  local _, request_id ---@type boolean?, integer?
  local withdrawn = false
  listeners[token] = on_canvas
  local params = { textDocument = vim.lsp.util.make_text_document_params(bufnr), position = position }

  local function answered(answer)
    listeners[token] = nil
    if not withdrawn then
      answer.elapsedMs = answer.elapsedMs or (vim.uv.hrtime() - began) / 1e6
      on_answer(answer)
    end
  end

  local function ask_plainly()
    -- An older server: the same candidates without details.
    local plain = vim.tbl_extend('error', params, { context = { triggerKind = INVOKED } })
    _, request_id = client:request('textDocument/inlineCompletion', plain, function(err, result)
      local items = result and (result.items or result) or {}
      answered({ candidates = items, reason = err and 'worker_failed' or nil })
    end, bufnr)
  end

  local full = vim.tbl_extend('error', params, { range = range, partialResultToken = token })
  _, request_id = client:request('infill/candidates', full, function(err, result)
    if err and err.code == METHOD_NOT_FOUND and not range and not withdrawn then
      ask_plainly()
    elseif err or not result then
      answered({ candidates = {}, reason = err and err.code == METHOD_NOT_FOUND and 'unsupported' or 'worker_failed' })
    else
      answered({
        candidates = result.candidates or {},
        reason = result.reason ~= vim.NIL and result.reason or nil,
        elapsedMs = type(result.elapsedMs) == 'number' and result.elapsedMs or nil,
      })
    end
  end, bufnr)

  return function()
    withdrawn = true
    listeners[token] = nil
    if request_id then
      client:cancel_request(request_id)
    end
  end
end

--- Takes a $/progress notification that belongs to one of our requests; false for any other.
---@param params { token: string|integer, value: any }
---@return boolean
function M.progress(params)
  local listener = listeners[params.token]
  local rows = listener and type(params.value) == 'table' and params.value.rows
  if rows then
    listener(rows, params.value.step or 0)
  end
  return listener ~= nil or vim.startswith(tostring(params.token), 'infill-candidates-')
end

return M

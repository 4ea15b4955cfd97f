--- The request infill/candidates: every candidate with its confidence, and the canvas while it develops.
local M = {}

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
---@field explanation? infill.Explanation
---@field elapsedMs? number

---@type table<string, fun(rows: infill.CanvasRow[])> by the token of a request on its way
local listeners = {}
local tokens = 0

--- Asks for the candidates that may replace a range.
---@param client vim.lsp.Client
---@param bufnr integer
---@param range lsp.Range
---@param on_canvas fun(rows: infill.CanvasRow[])
---@param on_answer fun(answer: infill.Answer)
---@return fun() withdraw the request; nothing is called any more
function M.ask(client, bufnr, range, on_canvas, on_answer)
  tokens = tokens + 1
  local token = 'infill-candidates-' .. tokens
  local _, request_id ---@type boolean?, integer?
  local withdrawn = false
  listeners[token] = on_canvas
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(bufnr),
    position = range.start,
    range = range,
    partialResultToken = token,
  }

  _, request_id = client:request('infill/candidates', params, function(err, result)
    listeners[token] = nil
    if withdrawn then
      return
    elseif err then
      return on_answer({ candidates = {}, reason = 'the request failed' })
    end
    for _, field in ipairs({ 'reason', 'explanation' }) do
      result[field] = result[field] ~= vim.NIL and result[field] or nil
    end
    on_answer(result)
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
    listener(rows)
  end
  return listener ~= nil or vim.startswith(tostring(params.token), 'infill-candidates-')
end

return M

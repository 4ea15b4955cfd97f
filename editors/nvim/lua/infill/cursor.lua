--- Tells the server where the cursor has come to rest, so that it reads the text there ahead of a request.
---
--- The server reads changed text by itself, so a cursor that moved because the text changed is not reported.
local place = require('infill.place')
local server = require('infill.server')

local M = {}

local METHOD = 'infill/cursor'
local REST_MS = 120

-- There is one cursor, so one timer for all buffers.
local timer = assert(vim.uv.new_timer())

--- The cursor has moved in a buffer, or into it.
---@param bufnr integer
function M.moved(bufnr)
  timer:start(
    REST_MS,
    0,
    vim.schedule_wrap(function()
      M._tell(bufnr)
    end)
  )
end

--- Cancels a waiting report: the text has changed, which Neovim reports after the movement, or the buffer was left.
function M.stop()
  timer:stop()
end

---@param bufnr integer
function M._tell(bufnr)
  local here = place.cursor(bufnr)
  local client = here and server.of(bufnr)
  if here and client and vim.list_contains({ 'n', 'i' }, vim.api.nvim_get_mode().mode:sub(1, 1)) then
    local document = vim.lsp.util.make_text_document_params(bufnr)
    document.version = vim.lsp.util.buf_versions[bufnr]
    client:notify(METHOD, {
      textDocument = document,
      position = place.position(here, client.offset_encoding),
      options = { tabSize = vim.lsp.util.get_effective_tabstop(bufnr), insertSpaces = vim.bo[bufnr].expandtab },
    })
  end
end

return M

--- `:checkhealth infill`
local M = {}

function M.check()
  local health = vim.health
  local server = require('infill.server')
  local name = require('infill.hooks').NAME
  health.start('infill')
  local problem = server.too_old()
  if problem then
    return health.error(problem)
  end
  health.ok('Neovim ' .. tostring(vim.version()))
  if require('infill.accept').leaves_typed_behind() then
    health.info(
      'Before Neovim 0.13, vim.lsp.inline_completion.get() leaves behind characters that were typed just before it. '
        .. 'Infill works around this in the buffers that it serves.'
    )
  end
  if not vim.lsp.is_enabled(name) then
    health.warn('The server is not enabled.', { "Add require('infill').setup() to your configuration." })
  end
  problem = server.missing()
  if problem then
    return health.error(problem)
  end
  local command = (vim.lsp.config[name] or {}).cmd
  if type(command) == 'table' then
    health.ok(('The server is started with: %s'):format(table.concat(command, ' ')))
  end
  local clients = vim.lsp.get_clients({ name = name })
  if #clients == 0 then
    health.info('The server is not running. It starts with the first file that can be changed.')
  end
  for _, client in ipairs(clients) do
    M._client(client)
  end
  local options = require('infill.config').get()
  for action, lhs in vim.spairs(options and options.keys or {}) do
    if lhs then
      health.info(('%s is on %s'):format(action, lhs))
    end
  end
end

---@param client vim.lsp.Client
function M._client(client)
  local health = vim.health
  local info = client.server_info or {}
  local misfit = require('infill.server').misfit(client.server_info)
  if misfit then
    health.error(misfit)
  else
    health.ok(('%s %s is running'):format(info.name or 'A server', info.version or ''))
  end
  if not client:supports_method('textDocument/inlineCompletion') then
    health.error('The server offers no inline completion.', { 'Correct `cmd`: it may start another server.' })
  end
  local buffers = vim.tbl_keys(client.attached_buffers)
  for _, bufnr in ipairs(buffers) do
    if not vim.lsp.inline_completion.is_enabled({ bufnr = bufnr }) then
      health.warn(
        ('Inline completion is off in buffer %d.'):format(bufnr),
        { "Call require('infill').setup() or vim.lsp.inline_completion.enable()." }
      )
    end
  end
  local answer = client:request_sync('infill/getStatus', vim.empty_dict(), 1000)
  local missing = answer and answer.result and answer.result.missingModel
  if missing and missing ~= vim.NIL then
    health.warn('The default model is not on this machine; only texts found in the project are suggested.', {
      (':Infill download fetches it: %s, %d MB, from %s'):format(missing.file, missing.megabytes, missing.address),
      ('Without a network, put that file into %s and run :Infill download.'):format(missing.folder),
    })
  end
  local status = vim.iter(buffers):map(require('infill.status').of):next()
  if status and status.state == 'failed' then
    health.error('The engine has failed. ' .. (status.detail or ''), { ':Infill log', ':Infill restart' })
  elseif status then
    health.ok(('The engine is %s (model %s on %s)'):format(status.state, status.model or '?', status.device or '?'))
  end
end

return M

--- The default model's files, which the server downloads when the user asks.
local M = {}

local COMMAND = 'infill.downloadModel'

---@class infill.Download
---@field client vim.lsp.Client
---@field token string of its progress
---@field share integer percent that are done
---@field doing? string

---@type infill.Download?
local running
local tokens = 0

--- Asks the server to download. The engine uses the model as soon as it is loaded.
---@param client? vim.lsp.Client
function M.start(client)
  if not client then
    return M._say('infill: no server is running; open a file first', 'WARN')
  elseif running then
    return M._say(('infill: %d %% are downloaded already'):format(running.share), 'INFO')
  end
  tokens = tokens + 1
  running = { client = client, token = ('infill-download-%d-%d'):format(vim.uv.os_getpid(), tokens), share = 0 }
  M._say('infill: downloading the default model; `:Infill cancel-download` ends it', 'INFO')
  local arguments = { { workDoneToken = running.token } }
  local params = { command = COMMAND, arguments = arguments }
  local sent = client:request('workspace/executeCommand', params, function(err, result)
    running = nil
    require('infill.status').changed()
    local message = err and err.message or (result and result.message) or 'the server has ended'
    local done = result and result.outcome ~= 'failed'
    M._say('infill: ' .. message, done and 'INFO' or 'ERROR')
  end)
  if not sent then
    running = nil
  end
end

--- Cancels the download. The received part is kept.
function M.cancel()
  if running then
    running.client:notify('window/workDoneProgress/cancel', { token = running.token })
  end
end

--- The percentage that is done; nil if nothing is being downloaded.
---@return integer?
function M.share()
  if running and running.client:is_stopped() then
    running = nil
  end
  return running and running.share
end

--- The current task in words.
---@return string?
function M.doing()
  return running and running.doing
end

--- Takes a $/progress notification that belongs to a download; false for any other.
---@param params { token: string|integer, value: any }
---@return boolean
function M.progress(params)
  if not running or params.token ~= running.token then
    return false
  end
  running.share = params.value.percentage or running.share
  running.doing = params.value.message or running.doing
  require('infill.status').changed()
  return true
end

---@param message string
---@param level 'INFO'|'WARN'|'ERROR'
function M._say(message, level)
  vim.notify(message, vim.log.levels[level])
end

return M

--- The server's process: its command, its buffers, and messages if it cannot be started.
local M = {}

--- Milliseconds within which a server must answer after its start; on an idle machine it takes less than a second.
M.patience = 20000

local EXECUTABLE = 'infill-ls'
local MARKERS = { '.git', '.hg', 'pyproject.toml', 'package.json', 'Cargo.toml', 'go.mod' }
local NAME = require('infill.hooks').NAME

--- The command that starts the server: from the PATH, otherwise from the environment of this file's checkout.
---@return string[]
function M.command()
  if vim.fn.executable(EXECUTABLE) == 0 then
    local here = debug.getinfo(1, 'S').source:sub(2)
    local checkout = vim.fn.fnamemodify(vim.uv.fs_realpath(here) or here, ':h:h:h:h:h')
    for _, folder in ipairs({ 'bin', 'Scripts' }) do
      local path = vim.fs.joinpath(checkout, '.venv', folder, EXECUTABLE)
      if vim.fn.executable(path) == 1 then
        return { path }
      end
    end
  end
  return { EXECUTABLE }
end

--- Tells the user once a session. Deferred, because an error in an autocommand stops what caused it.
---@param message string
---@param level? integer
function M.tell_once(message, level)
  vim.schedule(function()
    vim.notify_once(message, level or vim.log.levels.ERROR)
  end)
end

--- Why a buffer is not served; nil if it contains the user's text and can be changed. This may change with its options
--- at any time, even while it is attached.
---@param bufnr integer
---@return string?
function M.left_alone(bufnr)
  bufnr = bufnr ~= 0 and bufnr or vim.api.nvim_get_current_buf()
  local options = vim.bo[bufnr]
  if options.buftype ~= '' then
    return 'it is no file'
  elseif options.readonly then
    return 'it is read-only'
  elseif not options.modifiable then
    return 'it cannot be modified'
  elseif vim.api.nvim_buf_get_name(bufnr) ~= '' then
    return nil
  end
  -- Buffers without a name share one URI, so only one of them can be served.
  for _, client in ipairs(vim.lsp.get_clients({ name = NAME })) do
    for other in pairs(client.attached_buffers) do
      if other ~= bufnr and vim.api.nvim_buf_get_name(other) == '' then
        return 'it has no name, and nor has another one that is served'
      end
    end
  end
end

--- The client that serves a buffer; nil if none does.
---@param bufnr integer
---@return vim.lsp.Client?
function M.of(bufnr)
  return not M.left_alone(bufnr) and vim.lsp.get_clients({ name = NAME, bufnr = bufnr })[1] or nil
end

--- The project of a buffer, which is searched for similar code: the folder with a project's marks, otherwise the folder
--- that Neovim was started in. The home folder and its parents do not count, because they contain everything.
---@param bufnr integer
---@return string?
function M.root(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  local here = vim.fs.normalize(vim.fn.getcwd())
  local root = vim.fs.root(bufnr, MARKERS) or ((name == '' or vim.fs.relpath(here, name)) and here) or nil
  return root and not vim.fs.relpath(root, vim.fs.normalize('~')) and root or nil
end

--- Tells a running server about the project of another buffer.
---@param client vim.lsp.Client
---@param bufnr integer
function M.add_folder(client, bufnr)
  local root = M.root(bufnr)
  if not root then
    return
  end
  client.workspace_folders = client.workspace_folders or {}
  for _, folder in ipairs(client.workspace_folders) do
    if vim.uri_to_fname(folder.uri) == root then
      return
    end
  end
  local folder = { uri = vim.uri_from_fname(root), name = root }
  table.insert(client.workspace_folders, folder)
  client:notify('workspace/didChangeWorkspaceFolders', { event = { added = { folder }, removed = {} } })
end

--- The message for a Neovim that lacks inline completion; nil for one that has it.
---@return string?
function M.too_old()
  if vim.fn.has('nvim-0.12') == 0 then
    return 'infill: Neovim 0.12 or newer is needed, for its inline completion. This is ' .. tostring(vim.version())
  end
end

--- The message for a server that cannot be started; nil if it can.
---@return string?
function M.missing()
  local config = vim.lsp.config[NAME]
  local command = config and config.cmd
  if type(command) ~= 'table' or vim.fn.executable(command[1]) == 1 then
    return nil
  end
  return (
    'infill: the server %q is not installed, or not on the PATH. '
    .. 'Install it with `pip install .` or scripts/install in the folder of infill-ls, '
    .. "or say where it is: require('infill').setup({ cmd = { '/path/to/infill-ls' } })"
  ):format(command[1])
end

--- Says so once, in the first buffer that the missing server would have served.
---@param bufnr integer
function M.complain_if_missing(bufnr)
  local problem = not M.left_alone(bufnr) and M.missing()
  if problem then
    M.tell_once(problem)
  end
end

--- The message for a wrong server; nil if it is ours.
---@param info? { name: string } what the server said about itself
---@return string?
function M.misfit(info)
  if info and info.name ~= EXECUTABLE then
    return ('infill: the command starts %q and not %s; correct `cmd`'):format(info.name, EXECUTABLE)
  end
end

--- A server was started. If it never answers, ends it and says what to do. Otherwise Neovim would wait silently and
--- use it for the next buffer.
---@param config vim.lsp.ClientConfig of its client
function M.started(config)
  vim.defer_fn(function()
    if M._end_silent(config) then
      M.tell_once(
        (
          'infill: the server has not answered within %g s of its start and was ended. `:Infill restart` tries again, '
          .. '`:Infill log` shows its last words, `infill-ls doctor` examines the installation'
        ):format(M.patience / 1000)
      )
    end
  end, M.patience)
  -- When Neovim exits, it ends only servers that have answered.
  vim.api.nvim_create_autocmd('VimLeavePre', {
    group = vim.api.nvim_create_augroup('infill.start', {}),
    callback = function()
      M._end_silent(config)
    end,
  })
end

--- Whether a server has been started and has not answered yet.
---@return boolean
function M.starting()
  return #M._silent() > 0
end

---@return vim.lsp.Client[]
function M._silent()
  return vim.tbl_filter(function(client)
    return not client.initialized
  end, vim.lsp.get_clients({ name = NAME, _uninitialized = true }))
end

--- Ends a server that has not answered yet. Returns whether there was one.
---@param config vim.lsp.ClientConfig
---@return boolean
function M._end_silent(config)
  for _, client in ipairs(M._silent()) do
    if client.config == config then
      client:stop(true)
      return true
    end
  end
  return false
end

--- The server's process has ended. Says what to do if it never answered; Neovim reports a later end itself.
---@param code integer
---@param signal integer
---@param client_id integer
function M.ended(code, signal, client_id)
  local client = vim.lsp.get_client_by_id(client_id)
  if code == 0 or (client and client.initialized) then
    return
  end
  M.tell_once(
    (
      'infill: the server ended as it started (code %d, signal %d). `:Infill log` shows its last words, '
      .. '`infill-ls doctor` examines the installation, `:Infill restart` tries again'
    ):format(code, signal)
  )
end

return M

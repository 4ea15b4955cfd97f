--- The sub-commands of `:Infill`.
local config = require('infill.config')
local eagerness = require('infill.eagerness')
local server = require('infill.server')

local M = {}

local NAME = require('infill.hooks').NAME

---@return vim.lsp.Client?
local function client()
  return vim.lsp.get_clients({ name = NAME })[1]
end

---@param lines string[]
local function say(lines)
  vim.api.nvim_echo({ { table.concat(lines, '\n') } }, false, {})
end

local function say_why_no_next_edit()
  local why = require('infill.status').why_no_next_edit(vim.api.nvim_get_current_buf())
  say({ 'infill: no next edit' .. (why and ': ' .. why or '') })
end

--- Sends changed settings to the server, in addition to those it has.
---@param change table<string, any>
local function set(change)
  for _, running in ipairs(vim.lsp.get_clients({ name = NAME })) do
    local settings = running.settings.infill or vim.empty_dict()
    running.settings.infill = vim.tbl_extend('force', settings, change)
    running:notify('workspace/didChangeConfiguration', { settings = running.settings })
  end
  local before = (vim.lsp.config[NAME] or {}).settings or {}
  -- They also apply to a server that is started later.
  vim.lsp.config(NAME, { settings = { infill = vim.tbl_extend('force', before.infill or {}, change) } })
  for bufnr in pairs((client() or { attached_buffers = {} }).attached_buffers) do
    require('infill.ghost').clear(bufnr)
    require('infill.ghost').ask(bufnr)
  end
end

---@return table<string, any>
local function settings()
  local running = client()
  return (running and running.settings.infill) or ((vim.lsp.config[NAME] or {}).settings or {}).infill or {}
end

---@param name string of a setting
---@param enable boolean
---@param what string that is said to be on or off
local function toggle(name, enable, what)
  set({ [name] = enable })
  require('infill.next_edit').renew()
  say({ ('%s %s'):format(what, enable and 'on' or 'off') })
end

--- By language; a language that is not named is allowed.
---@param languages any
---@return table<string, boolean>
local function as_table(languages)
  if type(languages) ~= 'table' then
    return { ['*'] = true }
  elseif not vim.islist(languages) or vim.tbl_isempty(languages) then
    return languages
  end
  local allowed = { ['*'] = false }
  for _, language in ipairs(languages) do
    allowed[language] = true
  end
  return allowed
end

--- The selected part of a line; otherwise the line without its indentation.
---@param number integer 1-based
---@return infill.Range
local function range_in(number)
  local line = vim.fn.getline(number)
  local first, last = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  if vim.fn.visualmode() == 'v' and first[2] == number and last[2] == number then
    local last_character = vim.fn.matchstr(line:sub(last[3]), '^.')
    return { row = number - 1, first = first[3] - 1, last = math.min(#line, last[3] - 1 + #last_character) }
  end
  return { row = number - 1, first = #line:match('^%s*'), last = #line }
end

---@type table<string, fun(arguments: table)>
local COMMANDS = {
  status = function()
    say(require('infill.status').lines())
  end,
  pick = function(arguments)
    if arguments.range > 0 and arguments.line1 ~= arguments.line2 then
      return config.warn('candidates can replace a part of one line, not of several')
    end
    require('infill').pick(arguments.range > 0 and range_in(arguments.line1) or nil)
  end,
  ['next-edits'] = function()
    if not require('infill').pick_next_edit() then
      say_why_no_next_edit()
    end
  end,
  ['next-edit'] = function()
    if not require('infill').next_edit() then
      say_why_no_next_edit()
    end
  end,
  ['dismiss-next-edit'] = function()
    require('infill').dismiss_next_edit()
  end,
  ['toggle-next-edits'] = function()
    toggle('nextEdits', settings().nextEdits == false, 'infill: next edits are')
  end,
  ['toggle-next-edit-model'] = function()
    toggle('nextEditModel', settings().nextEditModel == false, 'infill: next edits of the model are')
  end,
  toggle = function()
    toggle('enable', settings().enable == false, 'infill is')
  end,
  eagerness = function(arguments)
    local function choose(level)
      -- A number from the settings would take precedence over the level.
      set({ eagerness = level, showThreshold = vim.NIL })
      say({ 'infill is ' .. level })
    end
    local level = arguments.fargs[2]
    if not level then
      return eagerness.choose(client(), choose)
    elseif not vim.list_contains(eagerness.LEVELS, level) then
      return config.warn(('no such eagerness: %s; there are %s'):format(level, table.concat(eagerness.LEVELS, ', ')))
    end
    choose(level)
  end,
  ['toggle-language'] = function()
    local running = client()
    local filetype = vim.bo.filetype
    local language = running and running.get_language_id(0, filetype) or filetype
    if language == '' then
      return config.warn('this buffer has no filetype')
    end
    local languages = vim.deepcopy(as_table(settings().languages))
    local allowed = languages[language]
    if allowed == nil then
      allowed = languages['*'] ~= false
    end
    languages[language] = not allowed
    set({ languages = languages })
    say({ ('infill is %s for %s'):format(allowed and 'off' or 'on', language) })
  end,
  restart = function()
    local running = client()
    if running and not running:is_stopped() then
      running:exec_cmd({ title = 'Restart', command = 'infill.restartEngine' })
      return say({ 'infill: the engine is being restarted' })
    end
    local problem = server.missing()
    if problem then
      return vim.notify(problem, vim.log.levels.ERROR)
    end
    vim.lsp.enable(NAME, false)
    vim.lsp.enable(NAME)
    say({ 'infill: the server is being started' })
  end,
  download = function()
    require('infill.download').start(client())
  end,
  ['cancel-download'] = function()
    require('infill.download').cancel()
  end,
  log = function()
    vim.cmd.tabnew(vim.fn.fnameescape(vim.lsp.log.get_filename()))
    vim.bo.readonly = true
    vim.cmd.normal({ 'G', bang = true })
  end,
  stats = function()
    say(require('infill.stats').lines())
  end,
}

---@param arguments table of nvim_create_user_command
function M.run(arguments)
  local problem = server.too_old()
  if problem then
    return vim.notify(problem, vim.log.levels.ERROR)
  end
  local name = arguments.fargs[1] or 'status'
  local command = COMMANDS[name]
  if not command then
    return config.warn(('no such command: %s; there are %s'):format(name, table.concat(config.names(COMMANDS), ', ')))
  end
  command(arguments)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local command = line:match('Infill%s+(%S+)%s')
  local names = not command and config.names(COMMANDS) or command == 'eagerness' and eagerness.LEVELS or {}
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
end

return M

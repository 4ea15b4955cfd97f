--- The levels of eagerness, and the cost of each.
local M = {}

M.LEVELS = { 'quiet', 'balanced', 'eager' }

---@class infill.Level
---@field shown? number share of the keystrokes at which something is shown
---@field wrong? number share of suggestions that nobody would accept

--- Such as ": shown at 58 % of keystrokes, 1 in 3 wrong"; empty if it was not measured.
---@param level? infill.Level
---@return string
local function cost(level)
  local shown, wrong = (level or {}).shown, (level or {}).wrong
  if type(shown) ~= 'number' or type(wrong) ~= 'number' or wrong <= 0 then
    return ''
  end
  return (': shown at %.0f %% of keystrokes, 1 in %.0f wrong'):format(100 * shown, 1 / wrong)
end

--- Lets the user choose a level, and calls back with it.
---@param client? vim.lsp.Client that knows what the levels cost
---@param callback fun(level: string)
function M.choose(client, callback)
  local function ask(status)
    vim.ui.select(M.LEVELS, {
      prompt = 'How readily should suggestions appear?',
      format_item = function(name)
        return name .. cost((status.levels or {})[name]) .. (name == status.eagerness and ' (now)' or '')
      end,
    }, function(name)
      if name then
        callback(name)
      end
    end)
  end
  if not client then
    return ask({})
  end
  client:request('infill/getStatus', vim.empty_dict(), function(_, status)
    ask(status or {})
  end)
end

return M

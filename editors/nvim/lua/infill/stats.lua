--- What became of the ghost text in this session: counts and times, which are not stored.
local M = {}

local counts = { shown = 0, accepted = 0, accepted_in_part = 0, cycled = 0, dismissed = 0, picked = 0, late = 0 }
local TIMES = 200
---@type number[] milliseconds from a request to its answer, the last TIMES of them
local times = {}

---@param what string
function M.count(what)
  counts[what] = counts[what] + 1
end

---@param milliseconds number
function M.answered(milliseconds)
  if #times == TIMES then
    table.remove(times, 1)
  end
  table.insert(times, milliseconds)
end

---@return table<string, integer>
function M.counts()
  return vim.deepcopy(counts)
end

--- The lines of `:Infill stats`.
---@return string[]
function M.lines()
  local lines = {
    ('shown %d, accepted %d, in part %d, picked from the list %d, dismissed %d'):format(
      counts.shown,
      counts.accepted,
      counts.accepted_in_part,
      counts.picked,
      counts.dismissed
    ),
    ('cycled %d times; %d answers came too late and were not shown'):format(counts.cycled, counts.late),
  }
  if #times > 0 then
    local sorted = vim.deepcopy(times)
    table.sort(sorted)
    local function share(of)
      return sorted[math.max(1, math.ceil(of * #sorted))]
    end
    table.insert(
      lines,
      ('answers in ms, the last %d: median %.0f, 95 %% below %.0f'):format(#sorted, share(0.5), share(0.95))
    )
  end
  return lines
end

return M

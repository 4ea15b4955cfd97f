--- Keeps Neovim's ghost text consistent with the buffer.
---
--- Neovim draws, cycles and asks. By itself it also shows outdated answers, and it accepts at the place where the text
--- began even if some of it has been typed since. So this module wraps Neovim's handler: whenever an answer comes or
--- the text changes, it cuts the answer to the part that is still missing at the cursor, or drops it.
local answer = require('infill.answer')
local place = require('infill.place')
local server = require('infill.server')
local silence = require('infill.silence')
local stats = require('infill.stats')
local status = require('infill.status')

local M = {}

local METHOD = 'textDocument/inlineCompletion'
local AUTOMATIC = 2 -- lsp.InlineCompletionTriggerKind
local namespace = vim.api.nvim_create_namespace('nvim.lsp.inline_completion') -- Neovim's own

---@class infill.Ghost
---@field from infill.Place of the cursor at the time of the request
---@field texts string[] the candidates
---@field commands (lsp.Command|false)[] to be run once a text has been accepted
---@field typed string the text typed since, when it was last drawn
---@field client vim.lsp.Client
---@field draw fun(items: lsp.InlineCompletionItem[]) hands items to Neovim

---@class infill.Asked a request of Neovim's
---@field client vim.lsp.Client
---@field send fun(receive: lsp.Handler) sends it
---@field handler lsp.Handler Neovim's
---@field from infill.Place of the cursor

---@type table<integer, infill.Ghost> by buffer
local ghosts = {}
---@type table<integer, infill.Asked> by buffer: the newest request; any other answer is too late
local newest = {}
---@type table<integer, integer> by buffer: the changedtick of the text in which nothing may be shown
local held = {}
---@type table<vim.lsp.Client, true>
local watched = setmetatable({}, { __mode = 'k' })

--- Wraps a client's requests for inline completion.
---@param client vim.lsp.Client
function M.watch(client)
  if watched[client] then
    return
  end
  watched[client] = true
  local request = client.request
  ---@diagnostic disable-next-line: duplicate-set-field
  client.request = function(self, method, params, handler, bufnr)
    if method ~= METHOD or not handler or params.context.triggerKind ~= AUTOMATIC then
      return request(self, method, params, handler, bufnr)
    end
    bufnr = bufnr == 0 and vim.api.nvim_get_current_buf() or bufnr
    local from = place.cursor(bufnr)
    if not from or M._is_silent(bufnr) or not vim.startswith(vim.api.nvim_get_mode().mode, 'i') then
      return true -- nothing can be shown at the cursor's new place, so asking would only cost time
    end
    local function send(receive)
      return request(self, method, params, receive, bufnr)
    end
    local asked = { client = client, send = send, handler = handler, from = from }
    newest[bufnr] = asked
    return send(M._receiver(asked, bufnr))
  end
end

--- The notification infill/lateAnswer: more was found after the answer. Asks again if nothing has changed.
---@param client vim.lsp.Client
---@param params { uri: string, version: integer, position: lsp.Position }
function M.late(client, params)
  local bufnr = vim.api.nvim_get_current_buf()
  local asked = newest[bufnr]
  local here = asked and asked.client == client and M._is_as_asked(bufnr, asked) and place.cursor(bufnr)
  if
    here
    and params.uri == vim.uri_from_bufnr(bufnr)
    and params.version == vim.lsp.util.buf_versions[bufnr]
    and vim.deep_equal(params.position, place.position(here, client.offset_encoding))
  then
    asked.send(M._receiver(asked, bufnr, true))
  end
end

--- Makes Neovim ask again if the cursor is in the buffer, because an earlier request found no engine.
---@param bufnr integer
function M.ask(bufnr)
  if vim.api.nvim_get_current_buf() == bufnr and vim.startswith(vim.api.nvim_get_mode().mode, 'i') then
    -- Only for Neovim's inline completion; for others, nothing has happened.
    local group = 'nvim.lsp.inline_completion:' .. bufnr
    pcall(vim.api.nvim_exec_autocmds, 'CursorMovedI', { group = group, modeline = false })
  end
end

--- The text or the cursor has changed: ghost text that is typed along stays, and text that no longer fits goes.
---@param bufnr integer
function M.follow(bufnr)
  local ghost = ghosts[bufnr]
  local typed = ghost and M._typed_since(bufnr, ghost)
  if not ghost or typed == ghost.typed then
    return
  end
  local chosen = typed and M._chosen(ghost, bufnr, typed)
  if chosen then
    M._show(bufnr, ghost, typed, chosen)
  else
    M.clear(bufnr)
  end
end

--- A character is about to be typed: removes it from the ghost text first. Neovim may redraw between the keystroke and
--- its events, and would show the character twice.
---@param bufnr integer
function M.before(bufnr)
  local rest = M.rest(bufnr)
  local mark = rest and M._mark(bufnr)
  if not rest or not mark then
    return
  end
  local id, row, column, details = unpack(mark)
  local drawn = { id = id, hl_mode = details.hl_mode, virt_text_pos = details.virt_text_pos, virt_text = {} }
  if M._continues(rest, vim.v.char) then
    local chunks = details.virt_text or {}
    drawn.virt_text = vim.list_extend({ { chunks[1][1]:sub(#vim.v.char + 1), chunks[1][2] } }, chunks, 2)
    drawn.virt_lines = details.virt_lines
  end
  vim.api.nvim_buf_set_extmark(bufnr, namespace, row, column, drawn)
end

--- A completion menu has been opened or closed, or another item is selected in it.
---@param bufnr integer
function M.make_way(bufnr)
  M.follow(bufnr)
  if not M.shown(bufnr) and not M._is_silent(bufnr) then
    M.ask(bufnr)
  end
end

--- The text that accepting inserts at the cursor, the command to run afterwards, and the client; nil if nothing of ours
--- is shown.
---@param bufnr integer
---@return string?, lsp.Command|false|nil, vim.lsp.Client?
function M.rest(bufnr)
  local ghost = ghosts[bufnr]
  local typed = ghost and M._typed_since(bufnr, ghost)
  local chosen = ghost and typed and M._chosen(ghost, bufnr, typed)
  if not chosen or not M._continues(ghost.texts[chosen], typed) then
    return nil
  end
  return ghost.texts[chosen]:sub(#typed + 1), ghost.commands[chosen], ghost.client
end

--- The ghost text on the screen, ours or another server's; nil if there is none.
---@param bufnr integer
---@return string?
function M.shown(bufnr)
  local mark = M._mark(bufnr)
  if not mark then
    return nil
  end
  local lines = {}
  local function add(chunks)
    local line = {}
    for _, chunk in ipairs(chunks) do
      if chunk[2] ~= 'ComplHintMore' then
        table.insert(line, chunk[1])
      end
    end
    table.insert(lines, table.concat(line))
  end
  add(mark[4].virt_text or {})
  vim.iter(mark[4].virt_lines or {}):each(add)
  return table.concat(lines, '\n')
end

---@param bufnr integer
---@return vim.api.keyset.get_extmark_item?
function M._mark(bufnr)
  return vim.api.nvim_buf_get_extmarks(bufnr, namespace, 0, -1, { details = true, limit = 1 })[1]
end

--- Whether the ghost text comes from another server.
---@param bufnr integer
---@return boolean
function M.is_foreign(bufnr)
  local ghost = ghosts[bufnr]
  local typed = ghost and M._typed_since(bufnr, ghost)
  return M.shown(bufnr) ~= nil and (not ghost or (typed ~= nil and not M._chosen(ghost, bufnr, typed)))
end

--- Makes Neovim's own functions find the rest of the text that the user sees, or nothing.
---@param bufnr integer
---@return boolean whether something is left
function M.catch_up(bufnr)
  local fits = M.rest(bufnr) ~= nil or M.is_foreign(bufnr)
  if fits then
    M.follow(bufnr)
  else
    M.clear(bufnr)
  end
  return fits
end

--- Shows the candidate `count` places further. False if there is no ghost text.
---@param count integer
---@return boolean
function M.cycle(count)
  local bufnr = vim.api.nvim_get_current_buf()
  if not M.catch_up(bufnr) then
    return false
  end
  vim.lsp.inline_completion.select({ bufnr = bufnr, count = count })
  stats.count('cycled')
  return true
end

--- Hides the ghost text, and drops any answer that is still to come.
---@param bufnr integer
function M.clear(bufnr)
  local ghost = ghosts[bufnr]
  M.forget(bufnr)
  if ghost then
    M._draw(ghost, bufnr, {})
  end
end

--- Neovim has hidden the ghost text itself.
---@param bufnr integer
function M.forget(bufnr)
  ghosts[bufnr] = nil
  newest[bufnr] = nil
end

--- Shows nothing in a buffer until it is released or its text changes, because something else uses the place.
---@param bufnr integer
function M.hold(bufnr)
  M.clear(bufnr)
  held[bufnr] = vim.api.nvim_buf_get_changedtick(bufnr)
end

---@param bufnr integer
function M.release(bufnr)
  held[bufnr] = nil
end

--- Whether nothing may be shown in a buffer now.
---@param bufnr integer
---@return boolean
function M._is_silent(bufnr)
  return held[bufnr] == vim.api.nvim_buf_get_changedtick(bufnr)
    or server.left_alone(bufnr) ~= nil
    or silence.reason() ~= nil
end

--- The text typed since a ghost text was requested; nil if it no longer fits.
---@param bufnr integer
---@param ghost infill.Ghost
---@return string?
function M._typed_since(bufnr, ghost)
  return not M._is_silent(bufnr) and place.typed_since(bufnr, ghost.from) or nil
end

---@param asked infill.Asked
---@param bufnr integer
---@param again? boolean it is sent once more: what it brings may continue what is shown, and replaces nothing
---@return lsp.Handler
function M._receiver(asked, bufnr, again)
  local handler = asked.handler
  local done = status.asking(asked.client.id)
  return function(err, result, ctx)
    done()
    if err or not result then
      return not again and handler(err, result, ctx)
    end
    local late = newest[bufnr] ~= asked or not vim.api.nvim_buf_is_valid(bufnr) or M._is_silent(bufnr)
    if late or not vim.startswith(vim.api.nvim_get_mode().mode, 'i') then
      return stats.count('late')
    end
    local items = result.items or result
    local ghost = answer.ghost_of(items, asked.from, asked.client)
    if again and not (ghost and M._is_as_asked(bufnr, asked) and M._goes_on(bufnr, ghost)) then
      return
    end
    if not ghost then
      ghosts[bufnr] = nil
      return handler(err, result, ctx)
    end
    ghost.draw = function(drawn)
      handler(nil, { items = drawn }, ctx)
    end
    M._take(bufnr, ghost)
  end
end

--- Whether the cursor is where it was at the time of the request, and no menu hides the place.
---@param bufnr integer
---@param asked infill.Asked
---@return boolean
function M._is_as_asked(bufnr, asked)
  return vim.fn.pumvisible() == 0 and not M._is_silent(bufnr) and place.typed_since(bufnr, asked.from) == ''
end

--- Whether the first text of a late answer begins with the ghost text.
---@param bufnr integer
---@param ghost infill.Ghost
---@return boolean
function M._goes_on(bufnr, ghost)
  local shown = M.shown(bufnr) and (M.rest(bufnr) or false) or ''
  return shown ~= false and #ghost.texts > 0 and M._continues(ghost.texts[1], shown)
end

--- An answer has come: shows its missing part.
---@param bufnr integer
---@param ghost infill.Ghost
function M._take(bufnr, ghost)
  local typed = place.typed_since(bufnr, ghost.from)
  if not typed then
    return stats.count('late')
  end
  -- A candidate that the user has selected stays if the new answer has it, too.
  local before = ghosts[bufnr]
  local kept = before and M._is_chosen_by_hand(bufnr, before) and M.rest(bufnr)
  local index = 1
  for i, text in ipairs(ghost.texts) do
    if kept and M._continues(text, typed) and text:sub(#typed + 1) == kept then
      index = i
    end
  end
  if #ghost.texts > 0 then
    stats.count('shown')
  end
  M._show(bufnr, ghost, typed, index)
end

--- Draws the texts that begin with the typed text, and selects one of them.
---@param bufnr integer
---@param ghost infill.Ghost
---@param typed string
---@param wanted integer of `ghost.texts`
function M._show(bufnr, ghost, typed, wanted)
  local here = assert(place.cursor(bufnr))
  local position = place.position(here, ghost.client.offset_encoding)
  local items, index = {}, 1
  for i, text in ipairs(ghost.texts) do
    if M._continues(text, typed) then
      table.insert(items, {
        insertText = text:sub(#typed + 1),
        range = { start = position, ['end'] = position },
        command = ghost.commands[i] or nil,
      })
      index = i == wanted and #items or index
    end
  end
  ghost.typed = typed
  ghosts[bufnr] = #items > 0 and ghost or nil
  if M._draw(ghost, bufnr, items) and index > 1 then
    vim.lsp.inline_completion.select({ bufnr = bufnr, count = index - 1 })
  end
end

---@param ghost infill.Ghost
---@param bufnr integer
---@param items lsp.InlineCompletionItem[]
---@return boolean
function M._draw(ghost, bufnr, items)
  local drawn = ghost.client.attached_buffers[bufnr] and pcall(ghost.draw, items)
  if not drawn then -- inline completion was turned off meanwhile
    M.forget(bufnr)
  end
  return drawn or false
end

--- Whether a text goes on after its typed beginning.
---@param text string
---@param typed string
---@return boolean
function M._continues(text, typed)
  return #text > #typed and vim.startswith(text, typed)
end

--- The number of the text that Neovim shows; nil if it shows none of them.
---@param ghost infill.Ghost
---@param bufnr integer
---@param typed string
---@return integer?
function M._chosen(ghost, bufnr, typed)
  local shown = M.shown(bufnr)
  if not shown then
    return nil
  end
  for i, text in ipairs(ghost.texts) do
    -- Neovim may have redrawn it at the cursor's new place.
    if text:sub(#ghost.typed + 1) == shown or text:sub(#typed + 1) == shown then
      return i
    end
  end
  -- Text that is already right of the cursor is not drawn twice.
  for i, text in ipairs(ghost.texts) do
    if vim.endswith(text, shown) then
      return i
    end
  end
end

--- Whether another text is shown than the first that fits.
---@param bufnr integer
---@param ghost infill.Ghost
---@return boolean
function M._is_chosen_by_hand(bufnr, ghost)
  for i, text in ipairs(ghost.texts) do
    if M._continues(text, ghost.typed) then
      return M._chosen(ghost, bufnr, ghost.typed) ~= i
    end
  end
  return false
end

return M

-- Watches one keystroke after the other in a running Neovim: `begin()` before its keys; the record is then sent to the
-- channel, in milliseconds from the last key on. Times come from Neovim's own events, not from the plugin.
local channel, most = ...
local METHOD = 'textDocument/inlineCompletion'
local UNDRAWN = 500 -- after the answer; ghost text that is not on the screen by then never was

local namespace = vim.api.nvim_create_namespace('nvim.lsp.inline_completion')
local record, key_at

local function now()
  return vim.uv.hrtime() / 1e6
end

local function has_ghost()
  return #vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { limit = 1 }) > 0
end

local function finish(this)
  if record == this then
    record = nil
    vim.rpcnotify(channel, 'keystroke', this)
  end
end

vim.on_key(function()
  key_at = now()
end)

vim.api.nvim_create_autocmd('LspRequest', {
  callback = function(event)
    local request = event.data.request
    if not record or request.method ~= METHOD then
      return
    elseif request.type == 'pending' then
      record.requested = now() - key_at
      record.at_once = has_ghost()
    elseif request.type == 'complete' and record.requested then
      local this = record
      this.answered = now() - key_at
      -- The handler runs after this; it draws, or it does not.
      vim.schedule(function()
        vim.schedule(function()
          if not has_ghost() then
            finish(this)
          end
        end)
      end)
      vim.defer_fn(function()
        finish(this)
      end, UNDRAWN)
    end
  end,
})

vim.api.nvim_set_decoration_provider(vim.api.nvim_create_namespace('bench'), {
  on_end = function()
    local this = record
    if this and this.answered and has_ghost() then
      this.drawn = now() - key_at
      vim.schedule(function()
        finish(this)
      end)
    end
  end,
})

function _G.begin()
  local this = { at_once = false }
  record = this
  vim.defer_fn(function()
    finish(this)
  end, most)
end

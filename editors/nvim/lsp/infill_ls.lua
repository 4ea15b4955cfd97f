-- The configuration for vim.lsp.enable('infill_ls'). `:help infill-config` says how to change it.
local server = require('infill.server')

---@type vim.lsp.Config
return {
  cmd = server.command(),
  -- No `filetypes`: the server accepts every language that its settings allow. Skips buffers without a file.
  root_dir = function(bufnr, on_dir)
    if not server.left_alone(bufnr) then
      on_dir(server.root(bufnr))
    end
  end,
  -- One server for all projects. It learns about their folders when a buffer is attached.
  reuse_client = function(client, config)
    return client.name == config.name and not client:is_stopped()
  end,
  before_init = function(_, config)
    server.started(config)
  end,
  settings = { infill = vim.empty_dict() },
  capabilities = { experimental = { infillLateAnswers = true, infillLateNextEdits = true } },
  handlers = {
    ['infill/lateAnswer'] = function(_, params, ctx)
      require('infill.ghost').late(assert(vim.lsp.get_client_by_id(ctx.client_id)), params)
    end,
    ['infill/lateNextEdit'] = function(_, params)
      require('infill.next_edit').late(params)
    end,
    ['infill/status'] = function(_, params, ctx)
      require('infill.status').told(ctx.client_id, params)
    end,
    ['$/progress'] = function(err, params, ctx)
      if not require('infill.candidates').progress(params) and not require('infill.download').progress(params) then
        return vim.lsp.handlers['$/progress'](err, params, ctx)
      end
    end,
  },
  on_exit = function(code, signal, client_id)
    server.ended(code, signal, client_id)
  end,
}

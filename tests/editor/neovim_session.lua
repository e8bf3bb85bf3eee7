-- A session as a user has it: open the model, break its comment, see the diagnostic, take the quick fix, save.
-- What happens is written to $SESSION_LOG, a line for each step.
local log = io.open(vim.env.SESSION_LOG, "w")
local function note(...)
  log:write(table.concat({ ... }, " "), "\n")
  log:flush()
end

local function wait(what, holds)
  if not vim.wait(120000, holds, 50) then
    note("never:", what)
    vim.cmd("cquit")
  end
end

local function errors()
  return vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR })
end

vim.cmd("edit " .. vim.env.SESSION_FILE)
local server = vim.lsp.start_client({
  name = "shapecheck",
  cmd = { vim.env.SESSION_PYTHON, "-m", "shapecheck", "lsp" },
  root_dir = vim.fn.fnamemodify(vim.env.SESSION_FILE, ":h"),
  handlers = {
    ["$/shapecheck/status"] = function(_, params)
      vim.g.status = params.text
    end,
  },
})
vim.lsp.buf_attach_client(0, server)
wait("the first status", function()
  return vim.g.status ~= nil
end)
note("opened:", vim.g.status)
note("errors:", #errors())

local number = vim.fn.search("(batch, d_out)", "n")
local line = vim.fn.getline(number):gsub("%(batch, d_out%)", "(d_out, batch)")
vim.api.nvim_buf_set_lines(0, number - 1, number, false, { line })
wait("a diagnostic", function()
  return #errors() == 1
end)
local found = errors()[1]
note("line", found.lnum + 1, found.code, found.message:match("[^\n]*"))

vim.api.nvim_win_set_cursor(0, { number, 10 })
local params = vim.lsp.util.make_range_params(0, "utf-16")
params.context = { diagnostics = {} }
local answer = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 60000)[server]
note("offered:", answer.result[1].title)
vim.lsp.util.apply_workspace_edit(answer.result[1].edit, "utf-16")
wait("the end of the diagnostic", function()
  return #errors() == 0
end)
vim.cmd("write")
note("saved:", vim.fn.getline(number))
vim.cmd("qall!")

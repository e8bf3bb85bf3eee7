// The extension as VS Code runs it, with a client of ours in the place of vscode-languageclient: it starts what the
// extension says, and speaks the protocol. What happens is written to stdout, a line for each step.
//   node vscode_session.js EXTENSION FILE COMMAND

const { spawn } = require("node:child_process");
const { EventEmitter } = require("node:events");
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const [extensionFile, file, command] = process.argv.slice(2);
const uri = pathToFileURL(file).href;
const given = { command, python: "", inlayHints: true, debounce: 30 };
const shown = { status: "", visible: false, error: "" };
const events = new EventEmitter();
let session;

// What VS Code says it can, as far as the server asks.
const CAPABILITIES = {
  workspace: {
    applyEdit: true,
    configuration: true,
    workspaceFolders: true,
    codeLens: { refreshSupport: true },
    diagnostics: { refreshSupport: true },
    didChangeConfiguration: { dynamicRegistration: true },
    didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true },
    inlayHint: { refreshSupport: true },
    workspaceEdit: { documentChanges: true },
  },
  textDocument: {
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix", "source", "source.fixAll"] } } },
    diagnostic: { dynamicRegistration: true, relatedDocumentSupport: false },
    hover: { contentFormat: ["markdown", "plaintext"] },
    publishDiagnostics: { relatedInformation: true, versionSupport: false },
    rename: { prepareSupport: true },
  },
  window: { showMessage: {}, workDoneProgress: true },
  notebookDocument: { synchronization: { executionSummarySupport: true } },
  general: { positionEncodings: ["utf-16"] },
};

class LanguageClient {
  constructor(id, name, { run }, options) {
    Object.assign(this, { run, options, handlers: new Map(), answers: new Map(), next: 1, asked: [] });
  }

  onNotification(method, handler) {
    this.handlers.set(method, handler);
  }

  start() {
    return new Promise((resolve, reject) => {
      this.process = spawn(this.run.command, this.run.args, { cwd: path.dirname(file), stdio: ["pipe", "pipe", "ignore"] });
      this.process.once("error", reject);
      let data = Buffer.alloc(0);
      this.process.stdout.on("data", (chunk) => {
        data = Buffer.concat([data, chunk]);
        for (;;) {
          const head = data.indexOf("\r\n\r\n");
          const length = head < 0 ? 0 : Number(/Content-Length: (\d+)/i.exec(data.subarray(0, head))[1]);
          if (head < 0 || data.length < head + 4 + length) return;
          this.take(JSON.parse(data.subarray(head + 4, head + 4 + length)));
          data = data.subarray(head + 4 + length);
        }
      });
      const folder = { uri: pathToFileURL(path.dirname(file)).href, name: "project" };
      const begin = { processId: process.pid, rootUri: folder.uri, workspaceFolders: [folder], capabilities: CAPABILITIES };
      this.process.once("spawn", async () => {
        await this.ask("initialize", { ...begin, initializationOptions: this.options.initializationOptions });
        this.sendNotification("initialized", {});
        session = this;
        resolve();
      });
    });
  }

  take(message) {
    if (message.method === undefined) this.answers.get(message.id)(message.result);
    else if (message.id !== undefined) {
      this.asked.push(message.method);
      this.send({ id: message.id, result: null });
    } else this.handlers.get(message.method)?.(message.params);
    events.emit("message");
  }

  send(message) {
    const data = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(`Content-Length: ${data.length}\r\n\r\n`);
    this.process.stdin.write(data);
  }

  ask(method, params) {
    const id = this.next++;
    this.send({ id, method, params });
    return new Promise((resolve) => this.answers.set(id, resolve));
  }

  sendNotification(method, params) {
    this.send({ method, params });
  }

  needsStop() {
    return this.process?.exitCode === null;
  }

  async stop() {
    await this.ask("shutdown", null);
    this.sendNotification("exit", null);
  }
}

const changes = new EventEmitter();
const vscode = {
  Uri: { parse: (text) => ({ toString: () => text }) },
  StatusBarAlignment: { Right: 2 },
  commands: { registerCommand: () => ({}) },
  window: {
    activeTextEditor: { document: { uri: { toString: () => uri } } },
    createStatusBarItem: () => ({
      set text(text) {
        shown.status = text;
      },
      show: () => (shown.visible = true),
      hide: () => (shown.visible = false),
    }),
    showErrorMessage: (text) => (shown.error = text),
    onDidChangeActiveTextEditor: () => ({}),
  },
  workspace: {
    getConfiguration: () => ({ get: (name) => given[name] }),
    onDidChangeConfiguration: (listener) => changes.on("settings", listener),
  },
};
const load = Module._load;
Module._load = (name, ...rest) =>
  name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);

async function until(holds) {
  for (let found; ; ) {
    if ((found = await holds())) return found;
    await Promise.race([new Promise((done) => events.once("message", done)), new Promise((done) => setTimeout(done, 500))]);
  }
}

async function main() {
  const extension = require(extensionFile);
  await extension.activate({ subscriptions: [] });
  if (shown.error) return console.log("error:", shown.error);
  let text = fs.readFileSync(file, "utf8");
  const textDocument = { uri };
  session.sendNotification("textDocument/didOpen", { textDocument: { uri, languageId: "python", version: 1, text } });
  await until(() => shown.visible);
  console.log("status:", shown.status);

  const line = text.split("\n").findIndex((each) => each.includes("# (batch, d_out)"));
  const start = { line, character: text.split("\n")[line].indexOf("(batch, d_out)") };
  const range = { start, end: { line, character: start.character + "(batch, d_out)".length } };
  const change = { textDocument: { uri, version: 2 }, contentChanges: [{ range, text: "(d_out, batch)" }] };
  session.sendNotification("textDocument/didChange", change);
  const pull = async () => (await session.ask("textDocument/diagnostic", { textDocument })).items;
  const [found] = await until(async () => ((items) => items.length && items)(await pull()));
  console.log("diagnostic:", found.code, found.range.start.line + 1, found.message.split("\n")[0]);
  console.log("bound:", found.relatedInformation.map((each) => each.message).join("; "));
  const actions = await session.ask("textDocument/codeAction", { textDocument, range, context: { diagnostics: [found] } });
  console.log("offered:", actions[0].title);
  const [edit] = actions[0].edit.documentChanges[0].edits;
  const mended = { textDocument: { uri, version: 3 }, contentChanges: [{ range: edit.range, text: edit.newText }] };
  session.sendNotification("textDocument/didChange", mended);
  await until(async () => (await pull()).length === 0);
  console.log("asked to look again:", session.asked.includes("workspace/diagnostic/refresh"));

  const all = { start: { line: 0, character: 0 }, end: { line: 100, character: 0 } };
  const hints = async () => (await session.ask("textDocument/inlayHint", { textDocument, range: all })).map((each) => each.label);
  console.log("hints:", (await until(async () => ((each) => each.length && each)(await hints()))).join(" "));
  given.inlayHints = false;
  changes.emit("settings", { affectsConfiguration: (name) => name === "shapecheck" });
  await until(async () => (await hints()).length === 0);
  console.log("no hints any more");
  await extension.deactivate();
}

main();

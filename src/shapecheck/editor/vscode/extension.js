// The client of `shapecheck lsp`: it starts the server, and shows how far the open file is verified.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const STATUS = "$/shapecheck/status";

let client;
let statusItem;
const texts = new Map(); // what the server said last, by the document's URI

function settings() {
  const section = vscode.workspace.getConfiguration("shapecheck");
  return {
    command: section.get("command"),
    server: {
      python: section.get("python"),
      inlayHints: section.get("inlayHints"),
      debounce: section.get("debounce"),
    },
  };
}

function showStatus() {
  const editor = vscode.window.activeTextEditor;
  const text = editor && texts.get(editor.document.uri.toString());
  if (text) {
    statusItem.text = `$(symbol-ruler) ${text.replace(/, version \d+$/, "")}`;
    statusItem.tooltip = `shapecheck: ${text}`;
    statusItem.show();
  } else {
    statusItem.hide();
  }
}

async function start() {
  const { command, server } = settings();
  const run = { command, args: ["lsp"] };
  client = new LanguageClient("shapecheck", "shapecheck", { run, debug: run }, {
    documentSelector: [
      { scheme: "file", language: "python" },
      { notebook: "jupyter-notebook", language: "python" },
    ],
    initializationOptions: server,
  });
  client.onNotification(STATUS, ({ uri, text }) => {
    // The server writes URIs as the protocol sent them; VS Code may write the same one in another way.
    texts.set(vscode.Uri.parse(uri).toString(), text);
    showStatus();
  });
  try {
    await client.start();
  } catch (error) {
    const remedy = "Install it with pip install 'jax-shapecheck[lsp]', or set shapecheck.command.";
    vscode.window.showErrorMessage(`shapecheck: ${command} lsp does not start (${error.message}). ${remedy}`);
  }
}

async function stop() {
  const stopped = client;
  client = undefined;
  texts.clear();
  if (stopped && stopped.needsStop()) {
    await stopped.stop();
  }
}

async function restart() {
  await stop();
  await start();
  showStatus();
}

async function activate(context) {
  statusItem = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Right, 90);
  context.subscriptions.push(
    statusItem,
    vscode.commands.registerCommand("shapecheck.restart", restart),
    vscode.window.onDidChangeActiveTextEditor(showStatus),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("shapecheck.command")) {
        await restart();
      } else if (event.affectsConfiguration("shapecheck") && client) {
        await client.sendNotification("workspace/didChangeConfiguration", { settings: settings().server });
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };

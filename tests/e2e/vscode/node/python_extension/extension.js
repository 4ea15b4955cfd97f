// What the Python extension tells other extensions: the chosen interpreter. It is chosen by writing its path into
// ~/interpreter.
const { existsSync, readFileSync, unwatchFile, watchFile } = require('node:fs');
const { homedir } = require('node:os');
const { join } = require('node:path');
const vscode = require('vscode');

const file = join(homedir(), 'interpreter');
const chosen = () => (existsSync(file) ? readFileSync(file, 'utf8') : 'python');

exports.activate = (context) => {
    const changed = new vscode.EventEmitter();
    watchFile(file, { interval: 100 }, () => changed.fire({ path: chosen() }));
    context.subscriptions.push(changed, { dispose: () => unwatchFile(file) });
    return {
        environments: {
            getActiveEnvironmentPath: () => ({ id: chosen(), path: chosen() }),
            onDidChangeActiveEnvironmentPath: changed.event,
        },
    };
};

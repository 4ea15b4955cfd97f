/** Connects the parts: the server, the item in the status bar, and the commands. */

import { promises as fs } from 'node:fs';
import * as vscode from 'vscode';
import { registerCommands } from './commands';
import { RestingCursor } from './cursor';
import { CURRENT, onDidChooseInterpreter } from './locate';
import { ModelDownload } from './modelDownload';
import { NextEdits } from './nextEdit';
import { Nudge } from './nudge';
import { Reports } from './report';
import { Server } from './server';
import { Statistics } from './statistics';
import { statusBar } from './statusBar';

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
    const log = vscode.window.createOutputChannel('Infill', { log: true });
    const folder = context.globalStorageUri.fsPath;
    const bundled = context.asAbsolutePath('server');
    await fs.mkdir(folder, { recursive: true });
    const statistics = new Statistics();
    const nudge = new Nudge();
    const reports = new Reports();
    const manifest = context.extension.packageJSON as Manifest;
    // The first group of settings is the extension's own; the second is generated from the server's.
    const ownSettings = Object.keys(manifest.contributes.configuration[0].properties).map((key) => key.split('.')[1] ?? '');
    const running = new Server({ log, folder, ownSettings, statistics, nudge }, manifest.version);
    server = running;
    const nextEdits = new NextEdits(running);
    const download = new ModelDownload(running, context.globalState);
    // If another window installs the server, this one can use it, too.
    const current = new vscode.RelativePattern(context.globalStorageUri, CURRENT);
    const installed = vscode.workspace.createFileSystemWatcher(current, false, false, true);
    context.subscriptions.push(
        log,
        nudge,
        installed,
        reports,
        running,
        new RestingCursor(running),
        nextEdits,
        download,
        running.onDidChangeStatus((status) => nudge.stateIs(status)),
        installed.onDidCreate(() => void running.refresh()),
        installed.onDidChange(() => void running.refresh()),
        onDidChooseInterpreter(() => void running.refresh()),
        statusBar(running),
        registerCommands({ server: running, nextEdits, download, statistics, reports, log, folder, bundled }),
        vscode.workspace.onDidChangeConfiguration((event) => {
            if (event.affectsConfiguration('infill.serverPath')) {
                void running.restart();
            }
        }),
        vscode.workspace.onDidGrantWorkspaceTrust(() => void running.refresh()),
        vscode.workspace.onDidChangeWorkspaceFolders(() => void running.refresh()),
    );
    void running.start(); // not awaited: starting a process must not block the editor
}

export async function deactivate(): Promise<void> {
    await server?.stop();
}

interface Manifest {
    version: string;
    contributes: { configuration: [{ properties: object }] };
}

/** The commands of the palette, by name. */

import * as vscode from 'vscode';
import { ExecuteCommandRequest } from 'vscode-languageclient/node';
import { chooseEagerness } from './eagerness';
import { install } from './install';
import { showMenu } from './menu';
import { tell } from './messages';
import type { ModelDownload } from './modelDownload';
import type { NextEdits } from './nextEdit';
import { pickCandidate } from './pick';
import { DISMISSED, RESTART_ENGINE } from './protocol';
import { type Reports, showDoctor, statisticsLines, statusLines } from './report';
import type { Server } from './server';
import type { Statistics } from './statistics';
import { toggle, toggleLanguage, toggleNextEditModel, toggleNextEdits } from './toggle';

const PATIENCE_MS = 2000; // for a server that is to be restarted

export interface Parts {
    server: Server;
    nextEdits: NextEdits;
    download: ModelDownload;
    statistics: Statistics;
    reports: Reports;
    log: vscode.LogOutputChannel;
    folder: string;
    bundled: string;
}

export function registerCommands(parts: Parts): vscode.Disposable {
    const { server, nextEdits, download, statistics, reports, log, folder, bundled } = parts;
    const commands: Record<string, (argument?: unknown) => unknown> = {
        pickCandidate: () => pickCandidate(server, statistics),
        trigger,
        acceptWord: () => accept('editor.action.inlineSuggest.acceptNextWord'),
        acceptLine: () => accept('editor.action.inlineSuggest.acceptNextLine'),
        dismiss: () => dismiss(server),
        nextEdit: (key) => nextEdits.jumpOrAccept(key === 'tab'),
        dismissNextEdit: () => nextEdits.dismiss(),
        pickNextEdit: () => nextEdits.pick(),
        toggle,
        toggleLanguage,
        toggleNextEdits,
        toggleNextEditModel,
        chooseEagerness: () => chooseEagerness(server),
        showStatus: async () => reports.show('Status', await statusLines(server, nextEdits.sentence)),
        showStatistics: async () => reports.show('Statistics', await statisticsLines(statistics, server, folder)),
        showLog: () => log.show(),
        restart: () => restart(server),
        doctor: () => showDoctor(reports, folder),
        menu: () => showMenu(server, download.missing !== undefined),
        downloadDefaultModel: () => download.start(),
        install: () => installAndStart(server, folder, bundled, log),
    };
    const registrations = Object.entries(commands).map(([name, run]) =>
        vscode.commands.registerCommand(`infill.${name}`, run),
    );
    return vscode.Disposable.from(...registrations);
}

/** Ghost text needs an editor with the focus, and the palette may still have it. */
async function trigger(): Promise<void> {
    await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
    await vscode.commands.executeCommand('editor.action.inlineSuggest.trigger');
}

/** The palette hid the ghost text when it took the focus. Ask again; the answer is the same. */
async function accept(command: string): Promise<void> {
    await trigger();
    await vscode.commands.executeCommand(command);
}

/** Hide the ghost text, and tell the server to keep it hidden. */
async function dismiss(server: Server): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    await vscode.commands.executeCommand('editor.action.inlineSuggest.hide');
    if (document && server.client) {
        const uri = server.client.code2ProtocolConverter.asUri(document.uri);
        await execute(server, DISMISSED, { uri, version: document.version, index: 0 });
    }
}

/** Restart the engine, which all windows share, and the server. One that hangs is not waited for. */
async function restart(server: Server): Promise<void> {
    const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
    await Promise.race([execute(server, RESTART_ENGINE), patience]);
    await server.restart();
}

/** Run a command of the server. An older server answers with an error, which means nothing to the user. */
async function execute({ client }: Server, command: string, ...argument: unknown[]): Promise<void> {
    await client?.sendRequest(ExecuteCommandRequest.type, { command, arguments: argument }).catch(() => undefined);
}

let installing = false;

async function installAndStart(
    server: Server,
    folder: string,
    bundled: string,
    log: vscode.LogOutputChannel,
): Promise<void> {
    if (installing) {
        tell('information', 'The Infill server is being installed already.');
        return;
    }
    installing = true;
    try {
        if (await install(folder, bundled, log)) {
            await server.restart();
        }
    } finally {
        installing = false;
    }
}

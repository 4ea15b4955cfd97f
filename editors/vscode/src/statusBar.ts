/** The item in the status bar: the engine's state, or why there is no suggestion. A click opens the menu. */

import { hostname } from 'node:os';
import * as vscode from 'vscode';
import { whyNot } from './documents';
import type { EngineStatus } from './protocol';
import type { Server } from './server';
import { languageIsOn } from './toggle';
import { LANGUAGE_OFF, viewOf } from './words';

const SHOWN = 'editor.inlineSuggest.enabled';
const HEALTHY = ['ready', 'thinking'];

export function statusBar(server: Server): vscode.Disposable {
    const item = vscode.window.createStatusBarItem('infill.status', vscode.StatusBarAlignment.Right, 100);
    item.name = 'Infill';
    item.command = 'infill.menu';
    const update = (): void => {
        const view = viewOf(here(server.status, vscode.window.activeTextEditor?.document));
        item.text = `$(${view.icon}) ${view.text}`;
        item.tooltip = new vscode.MarkdownString(view.tooltip + where());
        item.accessibilityInformation = { label: `${view.text}. ${view.tooltip}` };
        item.backgroundColor = view.severity && new vscode.ThemeColor(`statusBarItem.${view.severity}Background`);
        item.show();
    };
    update();
    return vscode.Disposable.from(
        item,
        server.onDidChangeStatus(update),
        vscode.window.onDidChangeActiveTextEditor(update),
        vscode.workspace.onDidChangeConfiguration((event) => {
            if (event.affectsConfiguration('infill') || event.affectsConfiguration(SHOWN)) {
                update();
            }
        }),
    );
}

/** Where the server runs, if that is not the machine in front of the user. */
function where(): string {
    const { remoteName } = vscode.env;
    return remoteName ? ` The server and the model run on ${hostname()} (${remoteName}).` : '';
}

/** The engine's status for the open document, which may not be supported. */
function here(status: EngineStatus, document: vscode.TextDocument | undefined): EngineStatus {
    if (!document || !HEALTHY.includes(status.state)) {
        return status;
    }
    const obstacle = whyNot(document) ?? whyNotShown(document);
    if (obstacle) {
        return { state: 'elsewhere', detail: obstacle };
    }
    if (!languageIsOn(document.languageId)) {
        return { ...status, ...LANGUAGE_OFF };
    }
    return status.reason === 'disabled' ? { ...status, reason: null } : status;
}

/** Why VS Code itself shows no ghost text in a document; undefined if it does. */
function whyNotShown(document: vscode.TextDocument): string | undefined {
    const shown = vscode.workspace.getConfiguration(undefined, document).get<boolean>(SHOWN);
    return shown === false ? `VS Code shows no ghost text: its setting \`${SHOWN}\` is off.` : undefined;
}

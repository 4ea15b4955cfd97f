/** Messages to the user: each sentence once in a session, with buttons that do something. */

import * as vscode from 'vscode';

/** What a button runs. */
export interface Action {
    title: string;
    run: () => unknown;
}

export const SHOW_LOG: Action = { title: 'Show Log', run: () => vscode.commands.executeCommand('infill.showLog') };
export const OPEN_SETTINGS: Action = {
    title: 'Open Settings',
    run: () => vscode.commands.executeCommand('workbench.action.openSettings', '@ext:infill-ls.infill'),
};

const told = new Set<string>();

/** Say it unless it was said before. */
export function tellOnce(kind: 'information' | 'warning' | 'error', sentence: string, ...actions: Action[]): void {
    if (!told.has(sentence)) {
        told.add(sentence);
        tell(kind, sentence, ...actions);
    }
}

/** Say it. Nobody waits for the answer. */
export function tell(kind: 'information' | 'warning' | 'error', sentence: string, ...actions: Action[]): void {
    const show = {
        information: vscode.window.showInformationMessage,
        warning: vscode.window.showWarningMessage,
        error: vscode.window.showErrorMessage,
    }[kind];
    const titles = actions.map((action) => action.title);
    void show(sentence, ...titles).then((title) => actions.find((action) => action.title === title)?.run());
}

/** What was said of something that works again may be said anew. */
export function forgetTold(): void {
    told.clear();
}

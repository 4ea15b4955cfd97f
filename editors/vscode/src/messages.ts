/** Messages to the user, each shown once in a session, with buttons. */

import * as vscode from 'vscode';

/** The command of a button. */
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

/** Show a message unless it was shown before. */
export function tellOnce(kind: 'information' | 'warning' | 'error', sentence: string, ...actions: Action[]): void {
    if (!told.has(sentence)) {
        told.add(sentence);
        tell(kind, sentence, ...actions);
    }
}

/** Show a message, without waiting for an answer. */
export function tell(kind: 'information' | 'warning' | 'error', sentence: string, ...actions: Action[]): void {
    const show = {
        information: vscode.window.showInformationMessage,
        warning: vscode.window.showWarningMessage,
        error: vscode.window.showErrorMessage,
    }[kind];
    const titles = actions.map((action) => action.title);
    void show(sentence, ...titles).then((title) => actions.find((action) => action.title === title)?.run());
}

/** Allow messages again about something that works now. */
export function forgetTold(): void {
    told.clear();
}

/** Which documents are supported, and why the others are not. */

import * as vscode from 'vscode';

const SCHEMES = ['file', 'untitled', 'vscode-notebook-cell'];

/** For the language client. */
export const SELECTOR = SCHEMES.map((scheme) => ({ scheme }));

/** Why a document is not supported, as a sentence; undefined if it is. */
export function whyNot(document: vscode.TextDocument): string | undefined {
    const { scheme } = document.uri;
    if (SCHEMES.includes(scheme)) {
        return undefined;
    }
    return `Infill works on files, untitled documents and notebook cells on the machine it runs on; this is a "${scheme}:" document.`;
}

/** Whether the document's file is read-only. */
export async function isReadOnly(document: vscode.TextDocument): Promise<boolean> {
    if (vscode.workspace.fs.isWritableFileSystem(document.uri.scheme) === false) {
        return true;
    }
    try {
        const stat = await vscode.workspace.fs.stat(document.uri);
        return stat.permissions === vscode.FilePermission.Readonly;
    } catch {
        return false; // not on a disk yet
    }
}

/** A list of next edits. The highlighted one is shown as a diff of the whole document. */

import * as vscode from 'vscode';
import type { EditProposal } from './protocol';
import { onOneLine } from './words';

const SCHEME = 'infill-next-edit';
const LONGEST = 60; // characters shown of a new text

export interface PlacedEdit {
    range: vscode.Range;
    oldText: string;
    newText: string;
}

export interface Placed {
    proposal: EditProposal;
    edits: PlacedEdit[];
}

interface Item extends vscode.QuickPickItem {
    index: number;
}

/** Let the user choose; undefined if they leave. Returns to the editor they came from. */
export async function pickProposal(editor: vscode.TextEditor, placed: Placed[]): Promise<number | undefined> {
    const { document, viewColumn, selection } = editor;
    const texts = placed.map(({ edits }) => applied(document, edits));
    const provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
        provideTextDocumentContent: (uri) => texts[Number(uri.query)] ?? '',
    });
    try {
        return await choose(document, placed);
    } finally {
        await closeDiffs();
        provider.dispose();
        await vscode.window.showTextDocument(document, { selection, ...(viewColumn ? { viewColumn } : {}) });
    }
}

function short(text: string): string {
    return onOneLine(text.trim()).slice(0, LONGEST);
}

function choose(document: vscode.TextDocument, placed: Placed[]): Promise<number | undefined> {
    const picker = vscode.window.createQuickPick<Item>();
    picker.title = 'Infill: next edits';
    picker.placeholder = '↑ ↓ shows a proposal as a diff, Enter applies it, Esc leaves the text as it is';
    picker.ignoreFocusOut = true; // the diff may take the focus for a moment
    picker.items = placed.map(({ proposal, edits }, index) => ({
        label: proposal.label,
        description: `${Math.round(100 * proposal.confidence)}%`,
        detail: edits.map(({ range, oldText, newText }) => `${range.start.line + 1}: ${change(oldText, newText)}`).join('   '),
        index,
    }));
    return new Promise((resolve) => {
        picker.onDidChangeActive(([item]) => item && void showDiff(document, placed, item.index));
        picker.onDidAccept(() => {
            resolve(picker.activeItems[0]?.index);
            picker.hide();
        });
        picker.onDidHide(() => {
            resolve(undefined);
            picker.dispose();
        });
        picker.show();
    });
}

async function showDiff(document: vscode.TextDocument, placed: Placed[], index: number): Promise<void> {
    const fresh = document.uri.with({ scheme: SCHEME, query: String(index), authority: '', fragment: '' });
    const first = placed[index]?.edits[0]?.range;
    const options: vscode.TextDocumentShowOptions = {
        preview: true,
        preserveFocus: true,
        ...(first ? { selection: new vscode.Range(first.start, first.start) } : {}),
    };
    const title = `${placed[index]?.proposal.label ?? ''} (Infill)`;
    await vscode.commands.executeCommand('vscode.diff', document.uri, fresh, title, options);
}

async function closeDiffs(): Promise<void> {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const ours = tabs.filter(({ input }) => input instanceof vscode.TabInputTextDiff && input.modified.scheme === SCHEME);
    if (ours.length) {
        await vscode.window.tabGroups.close(ours);
    }
}

/** The text with the edits applied; they are sorted and do not overlap. */
function applied(document: vscode.TextDocument, edits: PlacedEdit[]): string {
    const parts: string[] = [];
    let from = new vscode.Position(0, 0);
    for (const { range, newText } of edits) {
        parts.push(document.getText(new vscode.Range(from, range.start)), newText);
        from = range.end;
    }
    parts.push(document.getText(new vscode.Range(from, document.lineAt(document.lineCount - 1).range.end)));
    return parts.join('');
}

function change(old: string, fresh: string): string {
    return old ? `${short(old)} → ${short(fresh)}` : `+ ${short(fresh)}`;
}

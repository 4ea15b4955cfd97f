/** *Infill: Pick Candidate*: a list of all candidates, the highlighted one shown in place. */

import * as vscode from 'vscode';
import { type Command, ExecuteCommandRequest, type LanguageClient } from 'vscode-languageclient/node';
import { ask } from './ask';
import { isReadOnly, whyNot } from './documents';
import { tell } from './messages';
import { Preview } from './preview';
import type { Candidate, CandidatesAnswer, Canvas } from './protocol';
import type { Server } from './server';
import type { Statistics } from './statistics';
import { modelWords, onOneLine, reasonSentence, reasonWords, sourceWords, viewOf } from './words';

interface Item extends vscode.QuickPickItem {
    text?: string; // the text to insert; absent if there is none
    range?: vscode.Range;
    command?: Command;
}

const OPEN_SLOT = '▒';
const HELP = '↑ ↓ shows a candidate in place, Enter inserts it, Esc leaves the text as it is';
const SOURCE_ICONS: Record<string, string> = { retrieval: '$(history)', typed_through: '$(edit)' };

export async function pickCandidate(server: Server, statistics: Statistics): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const obstacle = editor ? await obstacleTo(editor) : 'Open a file first.';
    const { client } = server;
    if (!editor || obstacle || !client) {
        tell('information', obstacle ?? `Infill cannot answer now. ${viewOf(server.status).tooltip}`);
        return;
    }
    const version = editor.document.version;
    const chosen = await choose(server, client, editor);
    if (chosen?.text === undefined || !chosen.range) {
        return;
    }
    if (editor.document.version !== version) {
        tell('warning', 'The text has changed in the meantime; nothing was inserted.');
        return;
    }
    if (!(await insert(editor, chosen.range, chosen.text))) {
        tell('warning', 'Nothing was inserted: this file cannot be changed now. It may be read-only.');
        return;
    }
    statistics.took('list');
    if (chosen.command) {
        const { command, arguments: args } = chosen.command;
        const params = { command, ...(args ? { arguments: args } : {}) };
        await server.client?.sendRequest(ExecuteCommandRequest.type, params).catch(() => undefined);
    }
}

async function obstacleTo({ document, selection }: vscode.TextEditor): Promise<string | undefined> {
    if (await isReadOnly(document)) {
        return 'This file is read-only, so nothing can be inserted.';
    }
    if (!selection.isSingleLine) {
        return 'Infill completes at the cursor, or replaces a selection within one line.';
    }
    return whyNot(document);
}

/** Let the user choose; undefined if they leave. */
function choose(server: Server, client: LanguageClient, editor: vscode.TextEditor): Promise<Item | undefined> {
    const { document, selection } = editor; // the cursor, or the selection to be replaced
    const preview = new Preview(editor);
    const cancelling = new vscode.CancellationTokenSource();
    const picker = vscode.window.createQuickPick<Item>();
    picker.title = 'Infill: thinking';
    picker.placeholder = HELP;
    picker.busy = true;
    void vscode.commands.executeCommand('editor.action.inlineSuggest.hide');
    const showActive = (item: Item | undefined): void => {
        if (item?.text !== undefined) {
            preview.show(item.text, item.range ?? selection);
        } else {
            preview.clear();
        }
    };
    const put = (title: string, items: Item[]): void => {
        picker.title = title;
        picker.items = items;
        picker.activeItems = items.slice(0, 1);
        showActive(items[0]);
    };
    const onCanvas = (canvas: Canvas): void => put(`Infill: computing, pass ${canvas.step}`, itemsOfCanvas(canvas));
    ask(client, document, selection, onCanvas, cancelling.token)
        .then((answer) => put(titleOf(answer), itemsOf(answer, server)))
        .catch((fault: Error) => put('Infill: failed', [{ label: `$(error) ${fault.message}`, alwaysShow: true }]))
        .finally(() => (picker.busy = false));
    return new Promise((resolve) => {
        picker.onDidChangeActive(([item]) => showActive(item));
        picker.onDidAccept(() => {
            const [item] = picker.activeItems;
            if (!picker.busy || item?.range) {
                resolve(item);
                picker.hide();
            }
        });
        picker.onDidHide(() => {
            resolve(undefined);
            cancelling.cancel();
            cancelling.dispose();
            preview.dispose();
            picker.dispose();
        });
        picker.show();
    });
}

function titleOf(answer: CandidatesAnswer | undefined): string {
    if (!answer?.candidates.length) {
        return `Infill: ${reasonWords(answer ?? {})}`;
    }
    const count = answer.candidates.length;
    const took = answer.elapsedMs === undefined ? '' : `, ${Math.round(answer.elapsedMs)} ms`;
    const allowed = answer.budgetMs === undefined ? '' : ` of ${answer.budgetMs}`;
    const by = answer.model ? `, ${modelWords(answer.model)}${answer.device ? ` on ${answer.device}` : ''}` : '';
    return `Infill: ${count} ${count === 1 ? 'candidate' : 'candidates'}${took}${allowed}${by}`;
}

function itemsOf(answer: CandidatesAnswer | undefined, server: Server): Item[] {
    if (!answer?.candidates.length) {
        const silence = answer?.reason ? answer : server.status;
        return [{ label: `$(dash) ${reasonSentence(silence).replace(/[`*]/g, '')}`, alwaysShow: true }];
    }
    const convert = server.client?.protocol2CodeConverter;
    return answer.candidates.map((candidate) => {
        const icon = SOURCE_ICONS[candidate.source ?? ''] ?? '$(sparkle)';
        const item: Item = {
            label: `${icon} ${onOneLine(candidate.insertText)}`,
            description: describe(candidate, answer.elapsedMs),
            text: candidate.insertText,
            alwaysShow: true,
        };
        const range = convert?.asRange(candidate.range);
        return { ...item, ...(range ? { range } : {}), ...(candidate.command ? { command: candidate.command } : {}) };
    });
}

function describe(candidate: Candidate, elapsedMs: number | undefined): string {
    return [
        candidate.confidence === undefined ? '' : `${Math.round(100 * candidate.confidence)}%`,
        candidate.source ? sourceWords(candidate.source) : '',
        candidate.steps ? `${candidate.steps} ${candidate.steps === 1 ? 'pass' : 'passes'}` : '',
        elapsedMs === undefined ? '' : `${Math.round(elapsedMs)} ms`,
        candidate.partial ? 'unfinished' : '',
    ]
        .filter(Boolean)
        .join(' · ');
}

/** The present canvas, as items without a range: they can be seen but not inserted. */
function itemsOfCanvas(canvas: Canvas): Item[] {
    return canvas.rows.map((row) => {
        const text = row.slots.map((slot) => (slot.state === 'open' ? OPEN_SLOT : slot.text)).join('');
        const source = row.source ? { description: sourceWords(row.source) } : {};
        return { label: `$(loading~spin) ${onOneLine(text)}`, text, alwaysShow: true, ...source };
    });
}

async function insert(editor: vscode.TextEditor, range: vscode.Range, text: string): Promise<boolean> {
    const before = editor.document.offsetAt(range.start);
    const length = editor.document.getText().length - editor.document.getText(range).length;
    const { version } = editor.document;
    // A read-only editor reports success without making the edit.
    if (!(await editor.edit((edit) => edit.replace(range, text))) || editor.document.version === version) {
        return false;
    }
    // Line ends become the document's own, so only the document's length tells where the text ends.
    const end = editor.document.positionAt(before + editor.document.getText().length - length);
    editor.selection = new vscode.Selection(end, end);
    return true;
}

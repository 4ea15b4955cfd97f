/**
 * Next edits: requested after a pause, shown with decorations, applied as one undo step.
 * Tab goes to the nearest place and, pressed once more, applies the proposal everywhere; Escape dismisses it.
 */

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { whyNot } from './documents';
import { tell } from './messages';
import { type Placed, type PlacedEdit, pickProposal, short } from './nextEditPicker';
import { type EditProposal, dismissNotification, nextEditRequest } from './protocol';
import type { Server } from './server';
import { languageIsOn, nextEditsAreOn } from './toggle';

const PAUSE_MS = 300; // after a change
const CONTEXT = 'infill.nextEditShown';
const INDENTS = 'infill.nextEditIndents'; // Tab indents, because the cursor is on a blank line

interface Shown {
    editor: vscode.TextEditor;
    version: number; // of the document that the ranges refer to
    placed: Placed[];
    jumped: boolean;
}

export class NextEdits implements vscode.Disposable {
    private shown: Shown | undefined;
    private timer: NodeJS.Timeout | undefined;
    private asking: vscode.CancellationTokenSource | undefined;
    private picking = false; // the diff in the list is a separate editor
    private readonly old = vscode.window.createTextEditorDecorationType({
        backgroundColor: new vscode.ThemeColor('editor.findMatchHighlightBackground'),
        overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.findMatchForeground'),
    });
    private readonly fresh = vscode.window.createTextEditorDecorationType({
        after: { color: new vscode.ThemeColor('editorGhostText.foreground'), fontStyle: 'italic' },
        rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    });
    private readonly count = vscode.window.createStatusBarItem('infill.nextEdits', vscode.StatusBarAlignment.Right, 99);
    private readonly listening: vscode.Disposable;

    constructor(private readonly server: Server) {
        this.count.name = 'Infill: next edit';
        this.count.command = 'infill.pickNextEdit';
        this.listening = vscode.Disposable.from(
            this.old,
            this.fresh,
            this.count,
            vscode.workspace.onDidChangeTextDocument((event) => this.changed(event)),
            vscode.window.onDidChangeActiveTextEditor(() => this.picking || this.hide()),
            vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.moved(textEditor)),
            vscode.workspace.onDidChangeConfiguration(() => nextEditsAreOn() || this.hide()),
            server.onDidConnect(() => this.hide()),
        );
    }

    dispose(): void {
        clearTimeout(this.timer);
        this.asking?.cancel();
        this.listening.dispose();
    }

    /** Go to the nearest place; if the cursor is there already, or at the second call, apply. */
    async jumpOrAccept(byTab: boolean): Promise<void> {
        const shown = this.current();
        if (byTab && shown && isInBlankLine(shown.editor)) {
            await vscode.commands.executeCommand('tab'); // pressed before VS Code knew INDENTS
            return;
        }
        const edits = shown?.placed[0]?.edits;
        if (!shown || !edits?.length) {
            return;
        }
        const row = shown.editor.selection.active.line;
        const distance = (edit: PlacedEdit): number => Math.abs(edit.range.start.line - row);
        const nearest = edits.reduce((best, edit) => (distance(edit) < distance(best) ? edit : best));
        if (shown.jumped || distance(nearest) === 0) {
            await this.apply(shown, 0);
            return;
        }
        shown.jumped = true;
        shown.editor.selection = new vscode.Selection(nearest.range.start, nearest.range.start);
        shown.editor.revealRange(nearest.range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }

    /** Dismiss the proposals that are shown, for good. */
    dismiss(): void {
        const { shown } = this;
        if (shown) {
            const textDocument = { uri: shown.editor.document.uri.toString() };
            const ids = shown.placed.map(({ proposal }) => proposal.id);
            void this.server.client?.sendNotification(dismissNotification, { textDocument, ids }).catch(() => undefined);
        }
        this.hide();
    }

    /** List all proposals, each with a diff, and apply the chosen one. */
    async pick(): Promise<void> {
        const shown = this.current();
        if (!shown) {
            tell('information', 'Infill has no next edit to propose.');
            return;
        }
        this.picking = true;
        try {
            const index = await pickProposal(shown.editor, shown.placed);
            if (index !== undefined) {
                await this.apply(shown, index);
            }
        } finally {
            this.picking = false;
        }
    }

    private changed({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
        const editor = vscode.window.activeTextEditor;
        if (!contentChanges.length || document !== editor?.document) {
            return;
        }
        this.hide();
        clearTimeout(this.timer);
        this.timer = setTimeout(() => void this.ask(editor), PAUSE_MS);
    }

    private async ask(editor: vscode.TextEditor): Promise<void> {
        const { client } = this.server;
        const { document, selection } = editor;
        if (!client || !selection.isEmpty || whyNot(document) || !nextEditsAreOn() || !languageIsOn(document.languageId)) {
            return;
        }
        this.asking?.cancel();
        const asking = new vscode.CancellationTokenSource();
        this.asking = asking;
        const { version } = document;
        const convert = client.code2ProtocolConverter;
        const params = {
            textDocument: convert.asVersionedTextDocumentIdentifier(document),
            position: convert.asPosition(selection.active),
        };
        const answer = await client.sendRequest(nextEditRequest, params, asking.token).catch(() => undefined);
        if (asking.token.isCancellationRequested || document.version !== version || !answer?.proposals.length) {
            return;
        }
        if (vscode.window.activeTextEditor === editor) {
            this.show(editor, version, client, answer.proposals);
        }
    }

    private show(editor: vscode.TextEditor, version: number, client: LanguageClient, proposals: EditProposal[]): void {
        const convert = client.protocol2CodeConverter;
        const placed = proposals.map((proposal) => ({
            proposal,
            edits: proposal.edits.map(({ range, oldText, newText }) => ({ range: convert.asRange(range), oldText, newText })),
        }));
        this.shown = { editor, version, placed, jumped: false };
        const edits = placed[0]?.edits ?? [];
        const label = placed[0]?.proposal.label ?? '';
        editor.setDecorations(this.old, edits.map(({ range }) => range));
        editor.setDecorations(
            this.fresh,
            edits.map(({ range, newText }, index) => {
                const { end } = editor.document.lineAt(range.end.line).range;
                const hint = index ? '' : `  ${label} (Tab)`;
                const contentText = `  → ${short(newText)}${hint}`.replaceAll(' ', '\u00a0');
                return { range: new vscode.Range(end, end), renderOptions: { after: { contentText } } };
            }),
        );
        this.count.text = `$(edit) ${edits.length}`;
        this.count.tooltip = `${label}: Tab goes there, then applies; Escape dismisses.`;
        this.count.show();
        this.moved(editor);
        void vscode.commands.executeCommand('setContext', CONTEXT, true);
    }

    /** On a blank line, Tab indents. */
    private moved(editor: vscode.TextEditor): void {
        if (this.shown?.editor === editor) {
            void vscode.commands.executeCommand('setContext', INDENTS, isInBlankLine(editor));
        }
    }

    private hide(): void {
        this.asking?.cancel();
        const { shown } = this;
        if (shown) {
            this.shown = undefined;
            shown.editor.setDecorations(this.old, []);
            shown.editor.setDecorations(this.fresh, []);
            this.count.hide();
            void vscode.commands.executeCommand('setContext', CONTEXT, false);
        }
    }

    /** The proposals that are shown, if the document has not changed since. */
    private current(): Shown | undefined {
        const { shown } = this;
        if (shown && (shown.editor !== vscode.window.activeTextEditor || shown.editor.document.version !== shown.version)) {
            this.hide();
        }
        return this.shown;
    }

    private async apply(shown: Shown, index: number): Promise<void> {
        const edits = shown.placed[index]?.edits ?? [];
        const { document } = shown.editor;
        const text = (range: vscode.Range): string => document.getText(range);
        this.hide();
        if (document.version !== shown.version || edits.some(({ range, oldText }) => text(range) !== oldText)) {
            tell('warning', 'The text has changed in the meantime; nothing was applied.');
            return;
        }
        const changes = new vscode.WorkspaceEdit();
        changes.set(document.uri, edits.map(({ range, newText }) => vscode.TextEdit.replace(range, newText)));
        if (!(await vscode.workspace.applyEdit(changes)) || document.version === shown.version) {
            tell('warning', 'Nothing was applied: this file cannot be changed now. It may be read-only.');
        }
    }
}

function isInBlankLine({ document, selection }: vscode.TextEditor): boolean {
    return document.lineAt(selection.active.line).isEmptyOrWhitespace;
}

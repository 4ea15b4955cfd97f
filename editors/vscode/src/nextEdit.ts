/**
 * Next edits: requested after a pause, shown with decorations, applied as one undo step.
 * Tab goes to the nearest place and, pressed once more, applies the proposal everywhere; Escape dismisses it.
 */

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { whyNot } from './documents';
import { tell } from './messages';
import { type Placed, type PlacedEdit, pickProposal } from './nextEditPicker';
import { NextEditView } from './nextEditView';
import { type EditProposal, type LateNextEdit, type NextEditAnswer, dismissNotification, lateNextEditNotification, nextEditRequest } from './protocol';
import type { Server } from './server';
import { languageIsOn, nextEditsAreOn } from './toggle';
import { noNextEditSentence } from './words';

const PAUSE_MS = 300; // after a change
const PASSING = ['stale', 'superseded', 'cancelled']; // reasons after which another answer comes
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
    private silence: { document: vscode.TextDocument; answer: NextEditAnswer } | undefined; // why the last answer is empty
    private question: { document: vscode.TextDocument; version: number; errors: string } | undefined; // what the server was last asked with
    private picking = false; // the diff in the list is a separate editor
    private readonly view = new NextEditView();
    private readonly count = vscode.window.createStatusBarItem('infill.nextEdits', vscode.StatusBarAlignment.Right, 99);
    private readonly listening: vscode.Disposable;

    constructor(private readonly server: Server) {
        this.count.name = 'Infill: next edit';
        this.count.command = 'infill.pickNextEdit';
        this.listening = vscode.Disposable.from(
            this.view,
            this.count,
            vscode.workspace.onDidChangeTextDocument((event) => this.changed(event)),
            vscode.languages.onDidChangeDiagnostics((event) => this.diagnosed(event)),
            vscode.window.onDidChangeActiveTextEditor(() => this.picking || this.renew()),
            vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.moved(textEditor)),
            vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration('infill') && this.renew()),
            server.onDidConnect(() => this.connected()),
        );
    }

    dispose(): void {
        clearTimeout(this.timer);
        this.asking?.cancel();
        this.listening.dispose();
    }

    /** What is shown, or why nothing is, as a sentence; undefined before the first answer. */
    get sentence(): string | undefined {
        const proposal = this.current()?.placed[0]?.proposal;
        if (proposal) {
            return `Next edit: ${proposal.label}, ${proposal.kind === 'model' ? 'from the model, ' : ''}${percent(proposal)}.`;
        }
        const { silence } = this;
        const here = silence?.document === vscode.window.activeTextEditor?.document;
        return silence && here ? noNextEditSentence(silence.answer) : undefined;
    }

    /** Go to the nearest place; if the cursor is there already, or at the second call, apply. */
    async jumpOrAccept(byTab: boolean): Promise<void> {
        const shown = this.current();
        if (byTab && shown && this.indents(shown)) {
            await vscode.commands.executeCommand('tab'); // pressed before VS Code knew INDENTS
            return;
        }
        const edits = shown?.placed[0]?.edits;
        if (!shown || !edits?.length) {
            if (!byTab) {
                this.tellWhyNone();
            }
            return;
        }
        const row = shown.editor.selection.active.line;
        const distance = ({ range }: PlacedEdit): number => Math.max(range.start.line - row, row - range.end.line, 0);
        const nearest = edits.reduce((best, edit) => (distance(edit) < distance(best) ? edit : best));
        if (shown.jumped || distance(nearest) === 0) {
            await this.apply(shown, 0);
            return;
        }
        shown.jumped = true;
        this.moved(shown.editor);
        shown.editor.selection = new vscode.Selection(nearest.range.start, nearest.range.start);
        const last = nearest.range.start.line + nearest.newText.split('\n').length; // as far as new lines are shown
        shown.editor.revealRange(nearest.range.union(new vscode.Range(last, 0, last, 0)), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
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
            this.tellWhyNone();
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

    private tellWhyNone(): void {
        tell('information', `Infill: ${this.sentence ?? 'No next edit.'}`);
    }

    private connected(): void {
        this.hide();
        this.server.client?.onNotification(lateNextEditNotification, (late) => this.late(late));
    }

    /** The model has found something after the answer. Ask again if nothing has changed and nothing is shown. */
    private late({ uri, version }: LateNextEdit): void {
        const editor = vscode.window.activeTextEditor;
        const isHere = editor?.document.uri.toString() === vscode.Uri.parse(uri).toString();
        if (isHere && editor.document.version === version && !this.current()) {
            void this.ask(editor);
        }
    }

    private changed({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
        if (contentChanges.length && document === vscode.window.activeTextEditor?.document) {
            this.renew();
        }
    }

    /** Errors have come or gone: ask again if the last answer did not know them and nothing is shown. */
    private diagnosed({ uris }: vscode.DiagnosticChangeEvent): void {
        const editor = vscode.window.activeTextEditor;
        const { question } = this;
        if (!editor || editor.document !== question?.document || this.current()) {
            return;
        }
        const { document } = editor;
        const areHere = uris.some((uri) => uri.toString() === document.uri.toString());
        if (areHere && document.version === question.version && JSON.stringify(errorsIn(document)) !== question.errors) {
            void this.ask(editor);
        }
    }

    /** Hide what is shown, and ask again after a pause. */
    private renew(): void {
        this.hide();
        this.silence = undefined;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => void this.ask(vscode.window.activeTextEditor), PAUSE_MS);
    }

    private async ask(editor: vscode.TextEditor | undefined): Promise<void> {
        const { client } = this.server;
        if (!editor || !client) {
            return;
        }
        const { document, selection } = editor;
        if (!selection.isEmpty || whyNot(document) || !nextEditsAreOn() || !languageIsOn(document.languageId)) {
            return;
        }
        this.asking?.cancel();
        const asking = new vscode.CancellationTokenSource();
        this.asking = asking;
        const { version } = document;
        const convert = client.code2ProtocolConverter;
        const errors = errorsIn(document);
        this.question = { document, version, errors: JSON.stringify(errors) };
        const params = {
            errors,
            textDocument: convert.asVersionedTextDocumentIdentifier(document),
            position: convert.asPosition(selection.active),
        };
        const answer = await client.sendRequest(nextEditRequest, params, asking.token).catch(() => undefined);
        if (asking.token.isCancellationRequested || document.version !== version || !answer) {
            return;
        }
        this.silence = answer.reason && !PASSING.includes(answer.reason) ? { document, answer } : undefined;
        if (answer.proposals.length && vscode.window.activeTextEditor === editor) {
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
        const { edits, proposal } = placed[0] ?? { edits: [] };
        this.view.draw(editor, edits, `${proposal?.label} (Tab)`);
        this.count.text = `$(${proposal?.kind === 'model' ? 'sparkle' : 'edit'}) ${edits.length}`;
        this.count.tooltip = `${this.sentence} Tab goes there, then applies; Escape dismisses.`;
        this.count.show();
        this.moved(editor);
        void vscode.commands.executeCommand('setContext', CONTEXT, true);
    }

    private moved(editor: vscode.TextEditor): void {
        if (this.shown?.editor === editor) {
            void vscode.commands.executeCommand('setContext', INDENTS, this.indents(this.shown));
        }
    }

    /** On a blank line, Tab indents, unless it has led there. */
    private indents({ editor: { document, selection }, jumped }: Shown): boolean {
        return !jumped && document.lineAt(selection.active.line).isEmptyOrWhitespace;
    }

    private hide(): void {
        this.asking?.cancel();
        const { shown } = this;
        if (shown) {
            this.shown = undefined;
            this.view.clear(shown.editor);
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

function errorsIn({ uri }: vscode.TextDocument): { line: number; message: string }[] {
    const errors = vscode.languages.getDiagnostics(uri).filter(({ severity }) => severity === vscode.DiagnosticSeverity.Error);
    return errors.map(({ range, message }) => ({ line: range.start.line, message }));
}

function percent({ confidence }: EditProposal): string {
    return `${Math.round(100 * confidence)} %`;
}

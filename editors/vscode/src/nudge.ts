/**
 * Makes VS Code ask again. It sends no request for text typed right after the first document was opened. Requests while
 * the model loads get empty answers, and some answers improve after their deadline. Without this, nothing would appear
 * before the next edit.
 */

import * as vscode from 'vscode';
import { whyNot } from './documents';
import type { EngineStatus } from './protocol';
import { isOn, languageIsOn } from './toggle';

const FORGOTTEN_MS = 400; // after a keystroke; VS Code asks within 70
const READY = ['ready', 'thinking'];

/** The latest change of the active document, if it inserted text, until it is answered. */
interface Typed {
    document: vscode.TextDocument;
    version: number;
    written: vscode.Range; // the cursor is in it, or at its end
    asked: boolean;
}

export class Nudge implements vscode.Disposable {
    private typed: Typed | undefined;
    private asking: vscode.TextDocument | undefined;
    private showing = ''; // the version and the document of what is shown
    private ready = false;
    private timer: NodeJS.Timeout | undefined;
    private readonly known = new WeakSet<vscode.TextDocument>(); // VS Code has asked about these
    private readonly listening = vscode.workspace.onDidChangeTextDocument((event) => this.changed(event));

    /** VS Code asks about a document. Returns whether it does so because we made it ask. */
    asked(document: vscode.TextDocument): boolean {
        this.known.add(document);
        if (this.typed?.document === document) {
            this.typed.asked = true;
        }
        const ours = this.asking === document;
        this.asking = undefined;
        return ours;
    }

    /** Its request was answered, finally or with candidates, which are then `shown`. */
    answered(document: vscode.TextDocument, shown: boolean): void {
        this.showing = shown ? `${document.version} ${document.uri}` : '';
        if (this.typed?.document === document && this.typed.version === document.version) {
            this.typed = undefined;
        }
    }

    /** The engine's state has changed. */
    stateIs({ state }: EngineStatus): void {
        const before = this.ready;
        this.ready = READY.includes(state);
        if (this.ready && !before) {
            this.ask();
        }
    }

    /** The server has found more than it had at the deadline. */
    late(uri: vscode.Uri, version: number, position: vscode.Position): void {
        const editor = vscode.window.activeTextEditor;
        const document = editor?.document;
        if (
            editor &&
            document?.uri.toString() === uri.toString() &&
            document.version === version &&
            editor.selection.active.isEqual(position)
        ) {
            if (this.showing === `${document.version} ${document.uri}`) {
                // VS Code would keep it as the first one. The server says so only of a text that begins with it.
                void vscode.commands.executeCommand('editor.action.inlineSuggest.hide');
            }
            this.trigger(editor);
        }
    }

    dispose(): void {
        clearTimeout(this.timer);
        this.listening.dispose();
    }

    private changed({ document, contentChanges, reason }: vscode.TextDocumentChangeEvent): void {
        if (contentChanges.length === 0 || document !== vscode.window.activeTextEditor?.document) {
            return;
        }
        clearTimeout(this.timer);
        this.asking = undefined;
        const [change, ...others] = contentChanges;
        if (!change?.text || others.length || reason !== undefined || whyNot(document)) {
            this.typed = undefined; // a deletion, an undo, several cursors: nothing is offered there
            return;
        }
        const start = change.range.start;
        const written = new vscode.Range(start, document.positionAt(change.rangeOffset + change.text.length));
        this.typed = { document, version: document.version, written, asked: false };
        if (!this.known.has(document)) {
            this.timer = setTimeout(() => this.ready && !this.typed?.asked && this.ask(), FORGOTTEN_MS);
        }
    }

    private ask(): void {
        const typed = this.typed;
        const editor = vscode.window.activeTextEditor;
        if (!typed || editor?.document !== typed.document || typed.version !== typed.document.version) {
            return;
        }
        const wanted = vscode.workspace.getConfiguration('editor', typed.document).get('inlineSuggest.enabled');
        if (wanted && typed.written.contains(editor.selection.active)) {
            this.trigger(editor);
        }
    }

    private trigger({ document, selection }: vscode.TextEditor): void {
        if (selection.isEmpty && isOn() && languageIsOn(document.languageId)) {
            this.typed = undefined;
            this.asking = document;
            void vscode.commands.executeCommand('editor.action.inlineSuggest.trigger');
        }
    }
}

/**
 * Tells the server where the cursor has come to rest, so that it reads the text there ahead of a request. The server
 * reads changed text by itself, so a cursor at a fresh change is not reported.
 */

import * as vscode from 'vscode';
import { whyNot } from './documents';
import { cursorNotification } from './protocol';
import type { Server } from './server';
import { isOn, languageIsOn } from './toggle';

const REST_MS = 120;

/** The latest change of a document, while the cursor has not been seen elsewhere. */
interface Changed {
    document: vscode.TextDocument;
    range: vscode.Range; // of the inserted text; empty after a deletion
}

export class RestingCursor implements vscode.Disposable {
    private changed: Changed | undefined;
    private timer: NodeJS.Timeout | undefined;
    private readonly listening: vscode.Disposable;

    constructor(private readonly server: Server) {
        this.listening = vscode.Disposable.from(
            vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.moved(textEditor)),
            vscode.window.onDidChangeActiveTextEditor((editor) => this.moved(editor)),
            vscode.workspace.onDidChangeTextDocument((event) => this.textChanged(event)),
            server.onDidConnect(() => this.connected()),
        );
    }

    dispose(): void {
        clearTimeout(this.timer);
        this.listening.dispose();
    }

    private moved(editor: vscode.TextEditor | undefined): void {
        if (editor !== vscode.window.activeTextEditor) {
            return;
        }
        clearTimeout(this.timer);
        if (!editor || (this.changed?.document === editor.document && this.changed.range.contains(editor.selection.active))) {
            return;
        }
        this.changed = undefined;
        this.timer = setTimeout(() => this.tell(editor), REST_MS);
    }

    private connected(): void {
        this.changed = undefined; // this server has not seen that change
        this.moved(vscode.window.activeTextEditor);
    }

    private textChanged({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
        const change = contentChanges[0];
        if (!change || document !== vscode.window.activeTextEditor?.document) {
            return;
        }
        clearTimeout(this.timer);
        const end = document.positionAt(change.rangeOffset + change.text.length);
        this.changed = { document, range: new vscode.Range(change.range.start, end) };
    }

    private tell({ document, selection, options: { tabSize, insertSpaces } }: vscode.TextEditor): void {
        const { client } = this.server;
        if (!client || !selection.isEmpty || whyNot(document) || !isOn() || !languageIsOn(document.languageId)) {
            return;
        }
        const convert = client.code2ProtocolConverter;
        const textDocument = convert.asVersionedTextDocumentIdentifier(document);
        const position = convert.asPosition(selection.active);
        const options = { tabSize: Number(tabSize), insertSpaces: insertSpaces === true };
        // If the server is gone, nothing is lost.
        client.sendNotification(cursorNotification, { textDocument, position, options }).catch(() => undefined);
    }
}

/** Shows a text in place as ghost text, without touching the document. */

import * as vscode from 'vscode';
import { onOneLine } from './words';

const LONGEST = 300; // characters; nobody reads on

export class Preview implements vscode.Disposable {
    private readonly ghost = vscode.window.createTextEditorDecorationType({
        after: { color: new vscode.ThemeColor('editorGhostText.foreground'), fontStyle: 'italic' },
        rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    });
    private readonly replaced = vscode.window.createTextEditorDecorationType({ opacity: '0.35' });

    constructor(private readonly editor: vscode.TextEditor) {}

    /** Show `text` as if it were in `range`. */
    show(text: string, range: vscode.Range): void {
        // A decoration is one line of CSS: it would swallow spaces and cut at the first line break.
        const contentText = onOneLine(text).slice(0, LONGEST).replaceAll(' ', '\u00a0');
        const end = new vscode.Range(range.end, range.end);
        this.editor.setDecorations(this.ghost, [{ range: end, renderOptions: { after: { contentText } } }]);
        this.editor.setDecorations(this.replaced, range.isEmpty ? [] : [range]);
    }

    clear(): void {
        this.editor.setDecorations(this.ghost, []);
        this.editor.setDecorations(this.replaced, []);
    }

    dispose(): void {
        this.ghost.dispose();
        this.replaced.dispose();
    }
}

/**
 * Shows a next edit with decorations. The words that change are highlighted. Where one line stays one line, its end
 * shows the new words. Otherwise the new lines are shown beside the old ones: VS Code cannot put lines between others.
 */

import * as vscode from 'vscode';
import { type Hunk, type Piece, hunkOf } from './hunk';
import type { PlacedEdit } from './nextEditPicker';

const GAP = 2; // columns between the old text and the new one
const CHANGED = 'var(--vscode-diffEditor-insertedTextBackground)';
const INSERTED = 'var(--vscode-diffEditor-insertedLineBackground)';
const NEW_LINE = `linear-gradient(${INSERTED}, ${INSERTED})`;
const HINT = { color: new vscode.ThemeColor('editorGhostText.foreground'), fontStyle: 'italic' };

export class NextEditView implements vscode.Disposable {
    private readonly line = vscode.window.createTextEditorDecorationType({
        backgroundColor: new vscode.ThemeColor('diffEditor.removedLineBackground'),
    });
    private readonly old = vscode.window.createTextEditorDecorationType({
        backgroundColor: new vscode.ThemeColor('diffEditor.removedTextBackground'),
        overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.findMatchForeground'),
    });
    private readonly fresh = vscode.window.createTextEditorDecorationType({
        rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    });

    dispose(): void {
        this.line.dispose();
        this.old.dispose();
        this.fresh.dispose();
    }

    clear(editor: vscode.TextEditor): void {
        for (const type of [this.line, this.old, this.fresh]) {
            editor.setDecorations(type, []);
        }
    }

    /** Show edits in place of those that are shown. `hint` stands at the end of the first line. */
    draw(editor: vscode.TextEditor, edits: PlacedEdit[], hint: string): void {
        const { document } = editor;
        const hunks = edits.map((edit) => hunkOf(document, edit));
        const several = hunks.filter((hunk) => !isInLine(hunk));
        editor.setDecorations(this.line, several.flatMap(({ row, old }) => old.map((_, at) => document.lineAt(row + at).range)));
        editor.setDecorations(this.old, hunks.flatMap(changedRanges));
        editor.setDecorations(this.fresh, hunks.flatMap((hunk, index) => attachments(editor, hunk, index ? '' : hint)));
    }
}

function isInLine({ old, fresh }: Hunk): boolean {
    return old.length === 1 && fresh.length === 1;
}

function changedRanges({ row, old }: Hunk): vscode.Range[] {
    return old.flatMap((line, at) => {
        let column = 0;
        return line.flatMap(({ text, changed }) => {
            const start = column;
            column += text.length;
            return changed ? [new vscode.Range(row + at, start, row + at, column)] : [];
        });
    });
}

/** What lines show at their ends: a line of the new text, and on the first one the hint. */
function attachments(editor: vscode.TextEditor, hunk: Hunk, hint: string): vscode.DecorationOptions[] {
    const { document } = editor;
    const tabSize = Number(editor.options.tabSize) || 4;
    const lines = newLines(hunk).slice(0, document.lineCount);
    const count = Math.max(1, lines.length);
    const top = Math.max(0, Math.min(hunk.old.length ? hunk.row : hunk.row - 1, document.lineCount - count));
    const ends = Array.from({ length: count }, (_, at) => document.lineAt(top + at).range.end);
    const start = GAP + Math.max(...ends.map(({ line }) => columns(document.lineAt(line).text, tabSize)));
    const width = Math.max(...lines.map((line) => columns(textOf(line), tabSize)));
    return ends.map((end, at) => {
        const [line, indent] = [lines[at], start - columns(document.lineAt(end).text, tabSize)];
        const renderOptions = {
            ...(line ? { before: block(line, indent, width, tabSize) } : {}),
            ...(hint && !at ? { after: { ...HINT, contentText: unbroken(`  ${hint}`) } } : {}),
        };
        return { range: new vscode.Range(end, end), renderOptions };
    });
}

/** What is shown of the new text. */
function newLines(hunk: Hunk): Piece[][] {
    if (!isInLine(hunk)) {
        return hunk.fresh.map((line) => [{ text: '+ ', changed: false }, ...line]);
    }
    const [line = []] = hunk.fresh;
    const first = line.findIndex(({ changed }) => changed);
    const last = line.findLastIndex(({ changed }) => changed);
    return first < 0 ? [] : [[{ text: '→ ', changed: false }, ...line.slice(first, last + 1)]];
}

/** A new line after `indent` columns, with blanks at its end that make it `width` columns wide. */
function block(line: Piece[], indent: number, width: number, tabSize: number): vscode.ThemableDecorationAttachmentRenderOptions {
    let column = 0;
    const stops = line.map(({ text, changed }) => {
        const start = column;
        column += columns(text, tabSize);
        return `${changed ? CHANGED : 'transparent'} ${start}ch ${column}ch`;
    });
    stops.push(`transparent ${column}ch`);
    return {
        contentText: unbroken(expanded(textOf(line), tabSize).padEnd(width)),
        backgroundColor: new vscode.ThemeColor('editor.background'), // covers the highlight of the old line
        margin: `0 0 0 ${indent}ch`,
        // VS Code does not keep several attachments at one place in order, so one attachment has all backgrounds.
        textDecoration: `none; background-image: linear-gradient(to right, ${stops.join(', ')}), ${NEW_LINE}`,
    };
}

function textOf(line: Piece[]): string {
    return line.map(({ text }) => text).join('');
}

function unbroken(text: string): string {
    return text.replaceAll(' ', '\u00a0');
}

function expanded(text: string, tabSize: number): string {
    return text.replaceAll('\t', ' '.repeat(tabSize));
}

/** The columns that a text takes on the screen. */
function columns(text: string, tabSize: number): number {
    return expanded(text, tabSize).length;
}

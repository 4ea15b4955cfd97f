/** What an edit does to whole lines of a document, and which words change in them. */

import type { TextDocument } from 'vscode';
import type { PlacedEdit } from './nextEditPicker';

/** Lines that become others; either may be none. */
export interface Hunk {
    row: number; // of the first old line, or of the line before which the new ones stand
    old: Piece[][]; // by line
    fresh: Piece[][]; // by line
}

/** A part of a line. */
export interface Piece {
    text: string;
    changed: boolean;
}

const BREAK = '\n';
const MOST_PAIRS = 250_000; // of tokens that are compared; in longer texts, everything counts as changed

/** The edit as a hunk without the lines that it keeps at either end. */
export function hunkOf(document: TextDocument, { range, newText }: PlacedEdit): Hunk {
    const last = Math.min(range.end.line, document.lineCount - 1);
    const lines = Array.from({ length: last - range.start.line + 1 }, (_, at) => document.lineAt(range.start.line + at).text);
    const left = (lines[0] ?? '').slice(0, range.start.character);
    const right = (lines[lines.length - 1] ?? '').slice(range.end.character);
    const before = lines;
    const after = (left + newText + right).split(/\r?\n/);
    let row = range.start.line;
    while (before.length && before[0] === after[0]) {
        before.shift();
        after.shift();
        row++;
    }
    while (before.length && before[before.length - 1] === after[after.length - 1]) {
        before.pop();
        after.pop();
    }
    const [old, fresh] = [tokens(before), tokens(after)];
    const [keptOld, keptFresh] = kept(old, fresh);
    return { row, old: pieces(old, keptOld, before.length), fresh: pieces(fresh, keptFresh, after.length) };
}

/** Words, runs of blanks, other characters, and BREAK between lines. */
function tokens(lines: string[]): string[] {
    return lines.join(BREAK).match(/[\p{L}\p{N}_]+|[^\S\n]+|\n|./gu) ?? [];
}

/** The numbers of the tokens that both texts have in the same order, as many letters as possible. */
function kept(old: string[], fresh: string[]): [Set<number>, Set<number>] {
    const [inOld, inFresh] = [new Set<number>(), new Set<number>()];
    if (old.length * fresh.length > MOST_PAIRS) {
        return [inOld, inFresh];
    }
    const best = old.concat('').map(() => new Array<number>(fresh.length + 1).fill(0)); // letters kept from there on
    const from = (i: number, j: number): number => best[i]?.[j] ?? 0;
    for (let i = old.length - 1; i >= 0; i--) {
        for (let j = fresh.length - 1; j >= 0; j--) {
            const token = old[i] ?? '';
            (best[i] ?? [])[j] =
                token === fresh[j]
                    ? from(i + 1, j + 1) + (isBlank(token) ? 1 : token.length)
                    : Math.max(from(i + 1, j), from(i, j + 1));
        }
    }
    for (let i = 0, j = 0; i < old.length && j < fresh.length; ) {
        if (old[i] === fresh[j]) {
            inOld.add(i++);
            inFresh.add(j++);
        } else if (from(i + 1, j) >= from(i, j + 1)) {
            i++;
        } else {
            j++;
        }
    }
    return [inOld, inFresh];
}

function pieces(all: string[], keeps: Set<number>, count: number): Piece[][] {
    const lines: Piece[][] = count ? [[]] : [];
    all.forEach((text, i) => {
        let changed = !keeps.has(i);
        if (isBlank(text) && i < all.length - 1) {
            // Indentation belongs to the first word, and blanks between changed words belong to them.
            const starts = i === 0 || all[i - 1] === BREAK;
            changed = (!keeps.has(i + 1) && (starts || !keeps.has(i - 1))) || !(starts || keeps.has(i));
        }
        const line = lines[lines.length - 1] ?? [];
        const piece = line[line.length - 1];
        if (text === BREAK) {
            lines.push([]);
        } else if (piece?.changed === changed) {
            piece.text += text;
        } else {
            line.push({ text, changed });
        }
    });
    return lines;
}

function isBlank(token: string): boolean {
    return /^\s/.test(token);
}

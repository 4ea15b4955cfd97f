/** What happened in this session, as numbers. Nothing is stored and nothing leaves the editor. */

import type { Silence } from './protocol';
import { reasonWords } from './words';

const KEPT = 1000; // times of the latest answers

/** Counts since the window was opened; times are milliseconds from the editor's request to the answer. */
export class Statistics {
    private requests = 0;
    private answered = 0;
    private overtaken = 0;
    private accepted = 0;
    private picked = 0;
    private readonly silences = new Map<string, number>(); // by the words of their reason
    private readonly times: number[] = [];

    /** A request has ended; `items` is the number of candidates; undefined if the user typed on. */
    ended(items: number | undefined, milliseconds: number, silence: Silence): void {
        this.requests += 1;
        if (items === undefined) {
            this.overtaken += 1;
            return;
        }
        if (items > 0) {
            this.answered += 1;
        } else {
            const words = reasonWords(silence);
            this.silences.set(words, (this.silences.get(words) ?? 0) + 1);
        }
        this.times.push(milliseconds);
        this.times.splice(0, this.times.length - KEPT);
    }

    /** A whole candidate was inserted, from the ghost text or from the list. */
    took(from: 'ghost' | 'list'): void {
        this.accepted += from === 'ghost' ? 1 : 0;
        this.picked += from === 'list' ? 1 : 0;
    }

    /** The report, a line each. */
    lines(): string[] {
        const silent = [...this.silences].sort((one, other) => other[1] - one[1]);
        return [
            `Requests                ${this.requests}`,
            `  with candidates       ${this.answered}`,
            `  overtaken by typing   ${this.overtaken}`,
            ...silent.map(([words, count]) => `  ${words.padEnd(21)} ${count}`),
            `Accepted as ghost text  ${this.accepted}`,
            `Accepted from the list  ${this.picked}`,
            `Time to the answer      ${this.spread()}`,
        ];
    }

    private spread(): string {
        const sorted = [...this.times].sort((one, other) => one - other);
        const at = (share: number): string => `${Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0)} ms`;
        return sorted.length ? `median ${at(0.5)}, 95 of 100 within ${at(0.95)}, longest ${at(1)}` : 'nothing measured yet';
    }
}

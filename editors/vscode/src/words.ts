/** The server's states in words, and what helps if nothing is suggested. Pure. */

import type { EngineStatus, Silence } from './protocol';

/** A few words beside the icon, and a sentence that says what to do. */
export interface View {
    icon: string;
    text: string;
    tooltip: string;
    severity?: 'warning' | 'error';
}

/** Which of our commands or settings helps, by the reason of an empty answer. */
const HELP: Record<string, string> = {
    low_confidence: '*Infill: Trigger* shows the candidates anyway, and `infill.eagerness` says how sure one must be.',
    one_key: '*Infill: Trigger* shows it anyway.',
    deadline:
        '*Infill: Trigger* and larger values of `infill.budgetMs` (while typing) and `infill.explicitBudgetMs` (when you ask) ' +
        'give the model more.',
    deletion: '*Infill: Trigger* asks anyway.',
    undo: '*Infill: Trigger* asks anyway.',
    dismissed: '*Infill: Trigger* shows it anyway.',
    worker_failed: '*Infill: Restart Engine* starts it again.',
    failed: '*Infill: Show Log* shows the log.',
};

/** The same for next edits, without marks: it is shown in a message. */
const NEXT_EDIT_HELP: Record<string, string> = { failed: 'Infill: Show Log shows the log.' };

/** The language is off, which only VS Code knows. */
export const LANGUAGE_OFF: Silence = {
    reason: 'disabled',
    explanation: { words: 'off for this language', sentence: 'Off for this language. *Infill: Toggle for Language* turns it on.' },
};

/** A sentence that says why there is no next edit. */
export function noNextEditSentence(silence: Silence): string {
    return joined(`No next edit: ${reasonWords(silence)}.`, NEXT_EDIT_HELP[silence.reason ?? '']);
}

/** The reason of an empty answer in a few words; the bare reason if the server is older and sends no words. */
export function reasonWords({ reason, explanation }: Silence): string {
    return explanation?.words ?? reason?.replaceAll('_', ' ') ?? 'no candidates';
}

/** The reason of an empty answer as a sentence, with what helps. */
export function reasonSentence(silence: Silence): string {
    return joined(silence.explanation?.sentence ?? sentence(reasonWords(silence)), HELP[silence.reason ?? '']);
}

/** What the status bar shows for a state. */
export function viewOf(status: EngineStatus): View {
    const detail = status.detail ? ` ${sentence(status.detail)}` : '';
    switch (status.state) {
        case 'starting':
            return { icon: 'loading~spin', text: 'Infill: starting', tooltip: 'The server is being started.' };
        case 'loading': {
            const percent = Math.round(100 * Math.min(Math.max(status.fraction ?? 0, 0), 1));
            return { icon: 'loading~spin', text: `Infill ${percent}%`, tooltip: `The model is being loaded.${detail}` };
        }
        case 'thinking':
            return { icon: 'loading~spin', text: 'Infill', tooltip: `Computing a suggestion.${detail}` };
        case 'missing':
            return { icon: 'cloud-download', text: 'Infill: install', tooltip: `The server is not installed.${detail}`, severity: 'warning' };
        case 'failed':
            return { icon: 'error', text: 'Infill: failed', tooltip: `The engine failed.${detail}`, severity: 'error' };
        case 'off':
            return { icon: 'circle-slash', text: 'Infill: off', tooltip: 'Off. *Infill: Toggle* turns it on.' };
        case 'elsewhere':
            return { icon: 'circle-slash', text: 'Infill', tooltip: sentence(status.detail ?? '') };
        default:
            if (status.reason) {
                return { icon: 'dash', text: `Infill: ${reasonWords(status)}`, tooltip: `${reasonSentence(status)} Ready${by(status)}.` };
            }
            return { icon: 'sparkle', text: 'Infill', tooltip: `Ready${by(status)}.${timing(status)}` };
    }
}

/** Text on one line, for lists and previews. */
export function onOneLine(text: string): string {
    return text.replace(/\r\n|\r|\n/g, '⏎').replace(/\t/g, '    ');
}

/** A model's name; for a path, its distinguishing part. */
export function modelWords(model: string): string {
    return model.split(/[\\/]/).findLast(Boolean) ?? model;
}

/** The word for a candidate's source. */
export function sourceWords(source: string): string {
    return { model: 'model', retrieval: 'seen in your code', typed_through: 'typed through' }[source] ?? source;
}

function by({ model, device }: EngineStatus): string {
    return model ? `: ${modelWords(model)}${device ? ` on ${device}` : ''}` : '';
}

function joined(...sentences: (string | undefined)[]): string {
    return sentences.filter(Boolean).join(' ');
}

function timing(status: EngineStatus): string {
    return status.lastElapsedMs ? ` The last answer took ${Math.round(status.lastElapsedMs)} ms.` : '';
}

function sentence(text: string): string {
    return text && text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}

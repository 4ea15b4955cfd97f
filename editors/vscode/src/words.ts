/** The server's reasons and states in words. Pure. */

import type { EngineStatus } from './protocol';

/** A few words beside the icon, and a sentence that says what to do. */
export interface View {
    icon: string;
    text: string;
    tooltip: string;
    severity?: 'warning' | 'error';
}

const REASONS: Record<string, readonly [words: string, sentence: string]> = {
    blank: ['nothing to add', 'The model found nothing worth adding here.'],
    low_confidence: [
        'not sure enough',
        'No candidate is confident enough for `infill.eagerness`. *Infill: Trigger* shows the candidates anyway.',
    ],
    one_key: [
        'only one character',
        'The best candidate is a single character, as quick to type as to accept. *Infill: Trigger* shows it anyway.',
    ],
    deadline: [
        'out of time',
        'Time ran out before a candidate was finished. *Infill: Trigger* and larger values of `infill.budgetMs` (while typing) ' +
            'and `infill.explicitBudgetMs` (when you ask) give the model more.',
    ],
    deletion: ['after a deletion', 'Nothing is suggested right after a deletion, nor what was deleted. *Infill: Trigger* asks anyway.'],
    undo: ['after an undo', 'Nothing is suggested right after undo or redo. *Infill: Trigger* asks anyway.'],
    dismissed: ['dismissed here', 'You dismissed the suggestion or typed past it. *Infill: Trigger* shows it anyway.'],
    disabled: ['off for this language', 'Off for this language. *Infill: Toggle for Language* turns it on.'],
    excluded: ['file excluded', 'The model never reads files that tend to hold secrets or that `infill.excludes` names.'],
    unsupported: ['not this document', 'This document is too large or of an unsupported kind.'],
    loading: ['still loading', 'The model is being loaded.'],
    worker_failed: ['engine stopped', 'The engine stopped. *Infill: Restart Engine* starts it again.'],
};

const NO_NEXT_EDIT: Record<string, string> = {
    nothing_edited: 'nothing has been edited yet',
    no_consequence: 'everything still fits',
    half_written: 'the edit is still being written',
    ambiguous: 'other uses of the name may mean something else',
    low_confidence: 'not sure enough',
    dismissed: 'dismissed, or you have replaced this text yourself',
    undo: 'the last change was undone',
    bulk: 'too much changed at once',
    disabled: 'off for this language',
    excluded: 'the file is excluded',
    unsupported: 'this document is too large or of an unsupported kind',
    too_large: 'the document is too long to be sure of all places',
    loading: 'nothing is certain, and the model is still loading',
    deadline: 'nothing is certain, and the model found nothing in time',
    worker_failed: 'nothing is certain, and the engine has stopped',
    failed: 'an error; Infill: Show Log names it',
};

/** Words for the reason why there is no next edit, also for one that this version does not know. */
export function noNextEditWords(reason: string): string {
    return NO_NEXT_EDIT[reason] ?? reason.replaceAll('_', ' ');
}

/** A few words for the reason of an empty answer, also for one that this version does not know. */
export function reasonWords(reason: string): string {
    return REASONS[reason]?.[0] ?? reason.replaceAll('_', ' ');
}

/** A sentence for the reason of an empty answer. */
export function reasonSentence(reason: string): string {
    return REASONS[reason]?.[1] ?? `The server says: ${reason.replaceAll('_', ' ')}.`;
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
                return { icon: 'dash', text: `Infill: ${reasonWords(status.reason)}`, tooltip: `${reasonSentence(status.reason)} Ready${by(status)}.` };
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

function timing(status: EngineStatus): string {
    return status.lastElapsedMs ? ` The last answer took ${Math.round(status.lastElapsedMs)} ms.` : '';
}

function sentence(text: string): string {
    return text && text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}

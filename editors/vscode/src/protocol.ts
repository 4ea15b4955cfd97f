/** The server's extensions of LSP. Times are in milliseconds, confidences and fractions between 0 and 1. */

import { NotificationType, ProgressType, RequestType } from 'vscode-languageclient/node';
import type {
    Command,
    Position,
    ProgressToken,
    Range,
    TextDocumentIdentifier,
    VersionedTextDocumentIdentifier,
} from 'vscode-languageclient/node';

export interface Candidate {
    insertText: string;
    range: Range;
    confidence?: number;
    partial?: boolean;
    steps?: number;
    source?: string;
    command?: Command; // tells the server that it was accepted
}

export interface CandidatesParams {
    textDocument: TextDocumentIdentifier;
    position: Position;
    range: Range;
    partialResultToken?: ProgressToken;
}

/** Why there is nothing. Older servers send no explanation. */
export interface Silence {
    reason?: string | null;
    explanation?: { words: string; sentence: string } | null;
}

export interface CandidatesAnswer extends Silence {
    candidates: Candidate[];
    elapsedMs?: number;
    budgetMs?: number;
    model?: string;
    device?: string;
}

/** A canvas while it is denoised: one row for each candidate, with open slots still masked. */
export interface Canvas {
    step: number;
    rows: { slots: { text: string; state: string; confidence?: number }[]; source?: string }[];
}

export interface PlaceParams {
    textDocument: VersionedTextDocumentIdentifier;
    position: Position;
}

export interface CursorParams extends PlaceParams {
    options: { tabSize: number; insertSpaces: boolean };
}

/** The errors are those that other servers report in the document. */
export interface NextEditParams extends PlaceParams {
    errors: { line: number; message: string }[];
}

export interface EditProposal {
    id: string;
    kind: string;
    label: string;
    confidence: number;
    edits: { range: Range; oldText: string; newText: string }[];
}

export interface NextEditAnswer extends Silence {
    proposals: EditProposal[];
}

export interface DismissParams {
    textDocument: TextDocumentIdentifier;
    ids?: string[];
}

export interface LateAnswer {
    uri: string;
    version: number;
    position: Position;
}

export interface LateNextEdit {
    uri: string;
    version: number;
}

export interface MissingModel {
    file: string;
    megabytes: number;
    address: string; // of the page that publishes it
    folder: string; // into which the file may be put by hand
}

export interface DownloadResult {
    outcome: 'done' | 'failed' | 'cancelled';
    message: string;
}

/** The cost of a level of eagerness: shares of keystrokes and of suggestions; null if they were not measured. */
export interface Level {
    showFrom: number;
    shown: number | null;
    wrong: number | null;
}

export interface EngineStatus extends Silence {
    state: string;
    detail?: string;
    fraction?: number;
    model?: string;
    device?: string;
    lastElapsedMs?: number | null;
    nextEdits?: boolean;
    eagerness?: string | null;
    levels?: Record<string, Level>;
    missingModel?: MissingModel | null;
}

export const candidatesRequest = new RequestType<CandidatesParams, CandidatesAnswer | null, void>('infill/candidates');
export const statusRequest = new RequestType<object, EngineStatus | null, void>('infill/getStatus');
export const statusNotification = new NotificationType<EngineStatus>('infill/status');
export const lateAnswerNotification = new NotificationType<LateAnswer>('infill/lateAnswer');
export const lateNextEditNotification = new NotificationType<LateNextEdit>('infill/lateNextEdit');
export const cursorNotification = new NotificationType<CursorParams>('infill/cursor');
export const nextEditRequest = new RequestType<NextEditParams, NextEditAnswer | null, void>('infill/nextEdit');
export const dismissNotification = new NotificationType<DismissParams>('infill/didDismissNextEdit');
export const canvasProgress = new ProgressType<Canvas>();

export const ACCEPTED = 'infill.accepted';
export const DISMISSED = 'infill.dismissed';
export const RESTART_ENGINE = 'infill.restartEngine';
export const DOWNLOAD_MODEL = 'infill.downloadModel';

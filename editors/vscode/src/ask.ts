/** Asks the server for all candidates at a place. */

import type * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { type Canvas, type CandidatesAnswer, canvasProgress, candidatesRequest } from './protocol';

let tokens = 0;

/**
 * The candidates that may replace a range; undefined if the request was cancelled. `onCanvas` gets the canvas while it
 * is denoised.
 */
export async function ask(
    client: LanguageClient,
    document: vscode.TextDocument,
    range: vscode.Range,
    onCanvas: (canvas: Canvas) => void,
    token: vscode.CancellationToken,
): Promise<CandidatesAnswer | undefined> {
    const convert = client.code2ProtocolConverter;
    const partialResultToken = `infill-candidates-${++tokens}`;
    const listening = client.onProgress(canvasProgress, partialResultToken, onCanvas);
    try {
        const params = {
            textDocument: convert.asTextDocumentIdentifier(document),
            position: convert.asPosition(range.start),
            range: convert.asRange(range),
            partialResultToken,
        };
        return (await client.sendRequest(candidatesRequest, params, token)) ?? undefined;
    } catch (fault) {
        if (token.isCancellationRequested) {
            return undefined;
        }
        throw fault;
    } finally {
        listening.dispose();
    }
}

/** Asks the server for all candidates at a place: by its own request, or by the standard one if it is older. */

import * as vscode from 'vscode';
import {
    InlineCompletionRequest,
    InlineCompletionTriggerKind,
    type LanguageClient,
    ResponseError,
} from 'vscode-languageclient/node';
import { type Canvas, type CandidatesAnswer, METHOD_NOT_FOUND, canvasProgress, candidatesRequest } from './protocol';

/** A place in a document; `range` is the text to be replaced. */
export interface Place {
    document: vscode.TextDocument;
    position: vscode.Position;
    range: vscode.Range;
}

const TOO_OLD = 'This server does not support lists of candidates; upgrade it in the way it was installed';

let tokens = 0;

/** The answer; undefined if the request was cancelled or superseded. `onCanvas` gets the canvas while it is denoised. */
export async function ask(
    client: LanguageClient,
    place: Place,
    onCanvas: (canvas: Canvas) => void,
    token: vscode.CancellationToken,
): Promise<CandidatesAnswer | undefined> {
    const convert = client.code2ProtocolConverter;
    const partialResultToken = `infill-candidates-${++tokens}`;
    const listening = client.onProgress(canvasProgress, partialResultToken, onCanvas);
    try {
        const params = {
            textDocument: convert.asTextDocumentIdentifier(place.document),
            position: convert.asPosition(place.position),
            partialResultToken,
            ...(place.range.isEmpty ? {} : { range: convert.asRange(place.range) }),
        };
        return (await client.sendRequest(candidatesRequest, params, token)) ?? undefined;
    } catch (fault) {
        if (isUnknown(fault)) {
            return standard(client, place, token);
        }
        if (token.isCancellationRequested) {
            return undefined;
        }
        throw fault;
    } finally {
        listening.dispose();
    }
}

function isUnknown(fault: unknown): boolean {
    return fault instanceof ResponseError && fault.code === METHOD_NOT_FOUND;
}

async function standard(
    client: LanguageClient,
    place: Place,
    token: vscode.CancellationToken,
): Promise<CandidatesAnswer | undefined> {
    const convert = client.code2ProtocolConverter;
    const params = {
        textDocument: convert.asTextDocumentIdentifier(place.document),
        position: convert.asPosition(place.position),
        context: {
            triggerKind: InlineCompletionTriggerKind.Invoked,
            // Ask as if an ordinary completion were about to delete the selection, so that the candidates replace it.
            ...(place.range.isEmpty ? {} : { selectedCompletionInfo: { range: convert.asRange(place.range), text: '' } }),
        },
    };
    const here = convert.asRange(place.range);
    const began = performance.now();
    const result = await client.sendRequest(InlineCompletionRequest.type, params, token).catch((fault: unknown) => {
        throw isUnknown(fault) ? new Error(TOO_OLD) : fault;
    });
    if (result === null) {
        return undefined;
    }
    const candidates = (Array.isArray(result) ? result : result.items).map((item) => ({
        insertText: typeof item.insertText === 'string' ? item.insertText : item.insertText.value,
        range: item.range ?? here,
    }));
    return { candidates, elapsedMs: performance.now() - began };
}

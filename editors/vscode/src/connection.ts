/** A server process and the language client on its pipes. It is started once and closed, never restarted. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import * as vscode from 'vscode';
import {
    CloseAction,
    ErrorAction,
    LanguageClient,
    type LanguageClientOptions,
    RevealOutputChannelOn,
    ShowMessageNotification,
} from 'vscode-languageclient/node';
import { SELECTOR } from './documents';
import type { ServerCommand } from './locate';
import { SHOW_LOG, tellOnce } from './messages';
import type { Nudge } from './nudge';
import { ACCEPTED, type EngineStatus, type Silence, lateAnswerNotification, statusNotification } from './protocol';
import { environmentWithProxy } from './proxy';
import type { Statistics } from './statistics';
import { isOn, languageIsOn } from './toggle';

const START_SECONDS = 20; // until its first answer, which takes less than one second on an idle machine
const STOP_MS = 2_000;
const EXIT_MS = 500;
const SERVER = 'infill-ls';

/** The program could not be started or is not our server; the message says what to do. */
export class StartFailure extends Error {}

/** What a connection needs of the extension. */
export interface Host {
    log: vscode.LogOutputChannel;
    folder: string; // the process's current folder: our own, because a workspace could contain fake modules
    ownSettings: readonly string[]; // settings of the extension, which the server does not know
    statistics: Statistics;
    nudge: Nudge;
    onStatus: (status: EngineStatus) => void;
    onLost: (detail: string) => void; // the process ended unexpectedly
}

export interface Connection {
    client: LanguageClient;
    version: string;
    close: () => Promise<void>;
}

/** Start a server; `unwanted` ends it if it has not answered yet. Throws StartFailure. */
export async function connect(server: ServerCommand, host: Host, unwanted: AbortSignal): Promise<Connection> {
    const child = await startProcess(server, host.folder);
    const tail = lastLine(child);
    let latest: Silence = {}; // why the latest answer was empty
    const phase = { now: 'starting' as 'starting' | 'serving' | 'closing' };
    const client = new QuietClient('infill', 'Infill', () => Promise.resolve(child), {
        ...optionsFor(host, () => latest),
        errorHandler: {
            error: () => ({ action: ErrorAction.Continue, handled: true }),
            closed: () => {
                if (phase.now === 'serving') {
                    void ending(child, tail).then(host.onLost);
                }
                return { action: CloseAction.DoNotRestart, handled: true };
            },
        },
    });
    adjustCapabilities(client);
    client.onNotification(statusNotification, (status) => {
        latest = status;
        host.onStatus(status);
    });
    client.onNotification(lateAnswerNotification, ({ uri, version, position }) => {
        const { asUri, asPosition } = client.protocol2CodeConverter;
        host.nudge.late(asUri(uri), version, asPosition(position));
    });
    client.onNotification(ShowMessageNotification.type, ({ type, message }) => {
        tellOnce(type === 1 ? 'error' : type === 2 ? 'warning' : 'information', message, SHOW_LOG);
    });
    const close = async (): Promise<void> => {
        phase.now = 'closing';
        await client.dispose(STOP_MS).catch(() => undefined);
        child.kill();
    };
    const late = AbortSignal.timeout(1000 * START_SECONDS);
    const kill = (): boolean => child.kill('SIGKILL');
    const given = AbortSignal.any([late, unwanted]);
    given.addEventListener('abort', kill);
    try {
        if (given.aborted) {
            kill();
        }
        await client.start();
    } catch {
        phase.now = 'closing';
        const how = late.aborted
            ? withLastWords(`did not answer within ${START_SECONDS} seconds of its start and was ended`, tail)
            : `did not start as a language server: ${await ending(child, tail)}`;
        throw new StartFailure(`${server.command} ${how}`);
    } finally {
        given.removeEventListener('abort', kill);
        if (phase.now === 'closing') {
            child.kill();
        }
    }
    const { name, version } = client.initializeResult?.serverInfo ?? { name: 'unknown' };
    if (name !== SERVER) {
        await close();
        throw new StartFailure(`${server.command} is the language server "${name}", not ${SERVER}.`);
    }
    phase.now = 'serving';
    return { client, version: version ?? '', close };
}

/** We tell the user once. The client's own pop-ups would repeat it. */
class QuietClient extends LanguageClient {
    override error(message: string, data?: unknown): void {
        super.error(message, data, false);
    }
}

async function startProcess(server: ServerCommand, folder: string): Promise<ChildProcess> {
    const child = spawn(server.command, server.args, { cwd: folder, env: environmentWithProxy(), stdio: 'pipe' });
    try {
        await once(child, 'spawn');
    } catch (fault) {
        throw new StartFailure(`${server.command} could not be run: ${(fault as Error).message}.`);
    }
    child.on('error', () => undefined); // the readers of its pipes notice
    child.stdin.on('error', () => undefined);
    return child;
}

/** `silence` returns why the latest answer was empty, which the server sends just before the answer. */
function optionsFor(host: Host, silence: () => Silence): LanguageClientOptions {
    const { log, statistics, nudge } = host;
    return {
        documentSelector: SELECTOR,
        outputChannel: log,
        traceOutputChannel: log,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        initializationOptions: serverSettings(vscode.workspace.getConfiguration('infill'), host.ownSettings),
        initializationFailedHandler: () => false,
        middleware: {
            provideInlineCompletionItems: async (document, position, context, token, next) => {
                if (!isOn() || !languageIsOn(document.languageId)) {
                    return null; // at once, before the server knows that it was turned off
                }
                const ours = nudge.asked(document);
                if (ours && context.selectedCompletionInfo) {
                    return null; // the list of completions has been opened since
                }
                const unasked = ours ? { triggerKind: vscode.InlineCompletionTriggerKind.Automatic } : {};
                const began = performance.now();
                const result = await next(document, position, { ...context, ...unasked }, token);
                const items = Array.isArray(result) ? result : result?.items;
                const count = token.isCancellationRequested ? undefined : items?.length;
                statistics.ended(count, performance.now() - began, silence());
                if (count || (count === 0 && silence().reason !== 'loading')) {
                    nudge.answered(document, count > 0);
                }
                return result;
            },
            executeCommand: (command, args, next) => {
                if (command === ACCEPTED) {
                    statistics.took('ghost');
                }
                return next(command, args);
            },
            workspace: {
                // Without sections, the server only learns that something changed, and asks through `configuration`.
                didChangeConfiguration: (_sections, next) => next(undefined),
                configuration: async (params, token, next) => {
                    const answers = await next(params, token);
                    return Array.isArray(answers)
                        ? answers.map((answer: unknown) => serverSettings(answer, host.ownSettings))
                        : answers;
                },
            },
        },
    };
}

/** A section's settings without those that the server does not know. */
function serverSettings(section: unknown, ownSettings: readonly string[]): unknown {
    if (typeof section !== 'object' || section === null) {
        return section;
    }
    const entries = Object.entries(section).filter(
        ([key, value]) => !ownSettings.includes(key) && typeof value !== 'function',
    );
    return Object.fromEntries(entries);
}

/** The status bar shows the progress of loading, so no second bar is needed. Late answers and next edits are shown. */
function adjustCapabilities(client: LanguageClient): void {
    client.registerFeature({
        fillClientCapabilities: (capabilities) => {
            capabilities.window = { ...capabilities.window, workDoneProgress: false };
            capabilities.experimental = { infillLateAnswers: true, infillLateNextEdits: true };
        },
        initialize: () => undefined,
        getState: () => ({ kind: 'static' }),
        clear: () => undefined,
    });
}

function lastLine(child: ChildProcess): () => string {
    let line = '';
    if (child.stderr) {
        createInterface({ input: child.stderr }).on('line', (next) => {
            line = next.trim() || line;
        });
    }
    return () => line.slice(0, 200);
}

/** How a process ended. This becomes known a moment after its pipes close. */
async function ending(child: ChildProcess, line: () => string): Promise<string> {
    if (child.exitCode === null && child.signalCode === null) {
        const late = new Promise((resolve) => setTimeout(resolve, EXIT_MS));
        await Promise.race([once(child, 'close'), late]);
    }
    const how =
        child.exitCode !== null
            ? `it ended with code ${child.exitCode}`
            : child.signalCode !== null
              ? `it was ended by ${child.signalCode}`
              : 'it does not answer';
    return withLastWords(how, line);
}

function withLastWords(how: string, line: () => string): string {
    return line() ? `${how}, saying "${line()}".` : `${how}.`;
}

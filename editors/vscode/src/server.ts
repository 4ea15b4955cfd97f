/** Keeps a server running: finds it, starts it, restarts it if it is lost, and reports its state. */

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { type Connection, StartFailure, type Host, connect } from './connection';
import { BadSetting, type ServerCommand, locate } from './locate';
import { type Action, OPEN_SETTINGS, SHOW_LOG, forgetTold, tellOnce } from './messages';
import type { EngineStatus } from './protocol';

const LOSSES = 3; // within LOSS_WINDOW_MS; after that, only the user restarts it
const LOSS_WINDOW_MS = 180_000;
const PAUSE_MS = 500; // before the first restart after a loss; doubled each time

const RESTART: Action = { title: 'Restart', run: () => vscode.commands.executeCommand('infill.restart') };
const DOCTOR: Action = { title: 'Doctor', run: () => vscode.commands.executeCommand('infill.doctor') };
const INSTALL: Action = { title: 'Install', run: () => vscode.commands.executeCommand('infill.install') };

export class Server implements vscode.Disposable {
    status: EngineStatus = { state: 'starting' };
    command: ServerCommand | undefined;
    version = '';
    private connection: Connection | undefined;
    private losses: number[] = [];
    private timer: NodeJS.Timeout | undefined;
    private latest = new AbortController(); // aborted when another start or a stop replaces the latest start
    private queue: Promise<void> = Promise.resolve();
    private readonly changed = new vscode.EventEmitter<EngineStatus>();
    readonly onDidChangeStatus = this.changed.event;
    private readonly connected = new vscode.EventEmitter<void>();
    /** A server has been connected: `client` is a new one. */
    readonly onDidConnect = this.connected.event;

    constructor(
        private readonly host: Omit<Host, 'onStatus' | 'onLost'>,
        private readonly extensionVersion: string,
    ) {}

    /** The current connection, if any. */
    get client(): LanguageClient | undefined {
        return this.connection?.client;
    }

    /** Start or restart. Messages may be shown again, because the user asked for it. */
    restart(): Promise<void> {
        forgetTold();
        this.losses = [];
        return this.start();
    }

    start(): Promise<void> {
        const unwanted = this.supersede();
        return this.inTurn(async () => {
            await this.close();
            await this.open(unwanted);
        });
    }

    /** Look for the server again, and restart if another one is found. */
    refresh(): Promise<void> {
        const unwanted = this.latest.signal;
        return this.inTurn(async () => {
            const found = await locate(this.host.folder).catch(() => undefined);
            const isOther = found?.command !== this.command?.command || found?.origin !== this.command?.origin;
            if (found && isOther && !unwanted.aborted) {
                clearTimeout(this.timer);
                await this.close();
                await this.open(unwanted);
            }
        });
    }

    /** End the server and start none until `start` is called. */
    stop(): Promise<void> {
        this.supersede();
        return this.inTurn(() => this.close());
    }

    dispose(): void {
        void this.stop();
        this.changed.dispose();
        this.connected.dispose();
    }

    /** Abort the current start; returns the signal that aborts the next one. */
    private supersede(): AbortSignal {
        clearTimeout(this.timer);
        this.latest.abort();
        this.latest = new AbortController();
        return this.latest.signal;
    }

    private async open(unwanted: AbortSignal): Promise<void> {
        if (unwanted.aborted) {
            return;
        }
        this.report({ state: 'starting' });
        this.command = undefined;
        try {
            this.command = await locate(this.host.folder);
            if (this.command === undefined) {
                this.report({ state: 'missing' });
                tellOnce(
                    'information',
                    'Infill found its server, infill-ls, neither in this workspace nor on the PATH. ' +
                        'Install it into an environment of its own? This downloads about 90 MB.',
                    INSTALL,
                    OPEN_SETTINGS,
                );
                return;
            }
            this.host.log.info(`starting ${this.command.command} from ${this.command.origin}`);
            const host = {
                ...this.host,
                onStatus: (status: EngineStatus) => this.report(status),
                onLost: (detail: string) => this.lost(detail),
            };
            this.connection = await connect(this.command, host, unwanted);
            this.version = this.connection.version;
            this.connected.fire();
            this.checkVersion();
        } catch (fault) {
            if (!unwanted.aborted) {
                this.failed(fault);
            }
        }
    }

    private async close(): Promise<void> {
        const connection = this.connection;
        this.connection = undefined;
        await connection?.close();
    }

    private failed(fault: unknown): void {
        const reason = fault instanceof Error ? fault.message : String(fault);
        this.host.log.error(reason);
        this.report({ state: 'failed', detail: reason });
        if (fault instanceof BadSetting) {
            tellOnce('error', `Infill: ${reason}`, OPEN_SETTINGS);
        } else {
            const remedy = fault instanceof StartFailure ? ' See the log for details, or run Infill: Doctor to find a fix.' : '';
            tellOnce('error', `Infill: ${reason}${remedy}`, DOCTOR, SHOW_LOG, RESTART);
        }
    }

    private lost(detail: string): void {
        this.connection = undefined;
        const now = Date.now();
        this.losses = [...this.losses.filter((loss) => now - loss < LOSS_WINDOW_MS), now];
        if (this.losses.length > LOSSES) {
            this.failed(new StartFailure(`the server stopped ${this.losses.length} times in three minutes; ${detail}`));
            return;
        }
        this.host.log.warn(`the server stopped: ${detail}`);
        this.report({ state: 'starting' });
        tellOnce('warning', 'The Infill server stopped unexpectedly and is being started again.', SHOW_LOG);
        this.timer = setTimeout(() => void this.start(), PAUSE_MS * 2 ** (this.losses.length - 1));
    }

    private checkVersion(): void {
        if (isOlder(this.version, this.extensionVersion)) {
            const own = this.command?.origin.includes('itself');
            const remedy = own ? 'Reinstall it.' : 'Upgrade it in the way it was installed.';
            tellOnce(
                'warning',
                `The Infill server is version ${this.version}, older than this extension (${this.extensionVersion}); ` +
                    `some commands may do nothing. ${remedy}`,
                ...(own ? [INSTALL] : []),
                SHOW_LOG,
            );
        }
    }

    private report(status: EngineStatus): void {
        this.status = status;
        this.changed.fire(status);
    }

    private inTurn(work: () => Promise<void>): Promise<void> {
        this.queue = this.queue.then(work, work);
        return this.queue;
    }
}

/** Whether a version's major and minor are below another's. A server that runs from its sources has version "0". */
function isOlder(version: string, than: string): boolean {
    const [major, minor] = numbers(version);
    const [wantedMajor, wantedMinor] = numbers(than);
    return version.includes('.') && (major < wantedMajor || (major === wantedMajor && minor < wantedMinor));
}

function numbers(version: string): [number, number] {
    const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
    return [major, minor];
}

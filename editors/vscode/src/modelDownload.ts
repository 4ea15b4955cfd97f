/** The default model's files: offered once if they are missing, downloaded by the server, used without a reload. */

import * as vscode from 'vscode';
import {
    ExecuteCommandRequest,
    WorkDoneProgress,
    WorkDoneProgressCancelNotification,
} from 'vscode-languageclient/node';
import { tell } from './messages';
import { DOWNLOAD_MODEL, type DownloadResult, type EngineStatus, type MissingModel, statusRequest } from './protocol';
import type { Server } from './server';

const OFFERED = 'defaultModelOffered';

export class ModelDownload implements vscode.Disposable {
    missing: MissingModel | undefined;
    private running = false;
    private tokens = 0;
    private looked = false; // at the server that is connected
    private readonly listening: vscode.Disposable;

    constructor(
        private readonly server: Server,
        private readonly memory: vscode.Memento,
    ) {
        this.listening = vscode.Disposable.from(
            server.onDidConnect(() => {
                this.looked = false;
            }),
            server.onDidChangeStatus((status) => void this.look(status)),
        );
    }

    /** Download it, once the user has agreed. */
    async start(): Promise<void> {
        const { client } = this.server;
        if (!client || this.running) {
            tell('information', client ? 'The default model is being downloaded already.' : 'Infill: no server is running.');
            return;
        }
        this.running = true;
        const token = `infill-download-${++this.tokens}`;
        const params = { command: DOWNLOAD_MODEL, arguments: [{ workDoneToken: token }] };
        const options = { location: vscode.ProgressLocation.Notification, title: 'Infill', cancellable: true };
        try {
            const result = await vscode.window.withProgress(options, async (progress, cancelled) => {
                let done = 0;
                const following = client.onProgress(WorkDoneProgress.type, token, (value) => {
                    if (value.kind === 'report') {
                        const percent = value.percentage ?? done;
                        progress.report({ message: `${value.message ?? ''} (${percent} %)`, increment: percent - done });
                        done = percent;
                    }
                });
                cancelled.onCancellationRequested(() =>
                    client.sendNotification(WorkDoneProgressCancelNotification.type, { token }),
                );
                try {
                    return (await client.sendRequest(ExecuteCommandRequest.type, params)) as DownloadResult;
                } finally {
                    following.dispose();
                }
            });
            if (result.outcome === 'done') {
                this.missing = undefined;
            }
            const again = { title: 'Download Again', run: () => this.start() };
            const failed = result.outcome === 'failed';
            tell(failed ? 'error' : 'information', `Infill: ${result.message}`, ...(failed ? [again] : []));
        } catch (fault) {
            tell('error', `Infill: the download ended: ${fault instanceof Error ? fault.message : String(fault)}`);
        } finally {
            this.running = false;
        }
    }

    dispose(): void {
        this.listening.dispose();
    }

    /** Once the engine is ready, check whether the default model is missing, and offer it the first time. */
    private async look({ state }: EngineStatus): Promise<void> {
        if (this.looked || state !== 'ready') {
            return;
        }
        this.looked = true;
        const status = await this.server.client?.sendRequest(statusRequest, {}).catch(() => undefined);
        this.missing = status?.missingModel ?? undefined;
        if (!this.missing || this.memory.get(OFFERED)) {
            return;
        }
        const { megabytes, address } = this.missing;
        const download = { title: 'Download', run: () => this.start() };
        const later = { title: 'Not Now', run: () => undefined };
        await this.memory.update(OFFERED, true);
        tell(
            'information',
            "Infill's default model is not on this machine, so only texts found in the project are suggested. " +
                `Download the model? ${megabytes} MB from ${address}. ` +
                '"Infill: Download Default Model" does it later.',
            download,
            later,
        );
    }
}

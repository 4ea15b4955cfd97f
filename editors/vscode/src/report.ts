/** Reports open as read-only documents: status, statistics, doctor. */

import { execFile } from 'node:child_process';
import * as vscode from 'vscode';
import { type ServerCommand, locate } from './locate';
import { OPEN_SETTINGS, tell } from './messages';
import { statusRequest } from './protocol';
import type { Server } from './server';
import type { Statistics } from './statistics';
import { nextEditModelIsOn } from './toggle';
import { viewOf } from './words';

const SCHEME = 'infill-report';
const RUN_MS = 180_000; // a model may have to be loaded
// The settings that choose the engine, with their options on the command line.
const ENGINE_OPTIONS = {
    model: '--model',
    apiKeyVariable: '--api-key-variable',
    device: '--device',
    precision: '--precision',
};
const MARKS: Record<string, string> = { ok: '✓', warn: '!', fail: '✗' };

interface Check {
    name: string;
    status: string;
    detail: string;
    remedy?: string;
}

/** Shows reports. Each is a document with its text in its address, so none is ever out of date. */
export class Reports implements vscode.TextDocumentContentProvider, vscode.Disposable {
    private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

    provideTextDocumentContent(uri: vscode.Uri): string {
        return uri.query;
    }

    async show(name: string, lines: string[]): Promise<void> {
        const uri = vscode.Uri.from({ scheme: SCHEME, path: `Infill ${name}`, query: `${lines.join('\n')}\n` });
        await vscode.window.showTextDocument(uri, { preview: true });
    }

    dispose(): void {
        this.registration.dispose();
    }
}

/** The state of everything, one line each. */
export async function statusLines(server: Server, nextEdit = ''): Promise<string[]> {
    const { command, status, version } = server;
    const told = await server.client?.sendRequest(statusRequest, {}).catch(() => undefined);
    const seen = { ...status, ...told };
    return [
        `State     ${seen.state}: ${viewOf(seen).tooltip.replace(/[`*]/g, '')}`,
        `Model     ${seen.model || 'unknown'}`,
        `Device    ${seen.device || 'unknown'}`,
        `Latest    ${seen.lastElapsedMs ? `${Math.round(seen.lastElapsedMs)} ms` : 'no answer yet'}`,
        `Edits     next edits are ${seen.nextEdits === false ? 'off' : nextEditModelIsOn() ? 'on, those of the model too' : 'on'}. ${nextEdit}`.trimEnd(),
        `Server    ${command ? `${[command.command, ...command.args].join(' ')}, from ${command.origin}` : 'not found'}`,
        `Version   ${version || 'unknown'}`,
    ];
}

/** This window's numbers, then those that the server keeps for all editors of this user. */
export async function statisticsLines(statistics: Statistics, server: Server, folder: string): Promise<string[]> {
    const kept = server.command && (await run(server.command, folder, ['stats']));
    const lines = kept ? ['On this machine', ...(kept.text || kept.fault).split('\n')] : [];
    return ['In this window', ...statistics.lines(), '', ...lines];
}

/** Run the server's doctor with the current settings; returns its findings, a line or two each. */
async function doctorLines(folder: string): Promise<string[]> {
    const server = await locate(folder);
    if (!server) {
        return ['✗ server: infill-ls was not found.', '  Run the command Infill: Install Server, or set infill.serverPath.'];
    }
    const settings = vscode.workspace.getConfiguration('infill');
    const chosen = Object.entries(ENGINE_OPTIONS).flatMap(([key, option]) => {
        const value: unknown = settings.get(key);
        return value === true ? [option] : typeof value === 'string' && value ? [option, value] : [];
    });
    const found = await run(server, folder, ['doctor', '--json', ...chosen]);
    return [`✓ server: ${server.command}, from ${server.origin}`, ...findings(found.text || found.fault)];
}

export async function showDoctor(reports: Reports, folder: string): Promise<void> {
    const options = { location: vscode.ProgressLocation.Notification, title: 'Infill: checking this machine…' };
    try {
        const lines = await vscode.window.withProgress(options, () => doctorLines(folder));
        await reports.show('Doctor', lines);
    } catch (fault) {
        tell('error', `Infill: ${(fault as Error).message}`, OPEN_SETTINGS);
    }
}

/** Run one of the server's commands. */
function run(server: ServerCommand, folder: string, args: string[]): Promise<{ text: string; fault: string }> {
    // A model's path is relative to the workspace. Python would import a
    // module from there first (-P: not).
    const workspace = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file');
    const options = { cwd: workspace?.uri.fsPath ?? folder, timeout: RUN_MS };
    const isolated = server.args.length ? ['-P', ...server.args] : [];
    return new Promise((resolve) => {
        execFile(server.command, [...isolated, ...args], options, (error, stdout, stderr) =>
            resolve({ text: stdout.trim(), fault: stderr.trim() || (error?.message ?? '') }),
        );
    });
}

function findings(out: string): string[] {
    try {
        const { checks, ok } = JSON.parse(out) as { checks: Check[]; ok: boolean };
        const lines = checks.flatMap(({ name, status, detail, remedy }) => [
            `${MARKS[status] ?? '?'} ${name}: ${detail}`,
            ...(remedy ? [`  ${remedy}`] : []),
        ]);
        return [...lines, '', ok ? 'All checks passed.' : 'Some checks failed; see above.'];
    } catch {
        return ['✗ doctor: the server has none, or it failed:', ...out.split('\n').slice(-8).map((line) => `  ${line}`)];
    }
}

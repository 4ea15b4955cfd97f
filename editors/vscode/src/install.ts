/** Installs the server into an environment of the extension, and makes it the current one when it works. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { promises as fs } from 'node:fs';
import * as path from 'node:path';
import { createInterface } from 'node:readline';
import * as vscode from 'vscode';
import { CURRENT, onPath, pythonOf, workspacePythons } from './locate';
import { SHOW_LOG, tell } from './messages';
import { environmentWithProxy } from './proxy';

const NEW_ENOUGH = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))';
const PYTHONS = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python'];
const TOLD = /^(Collecting|Downloading|Building|Installing|Processing|Preparing|Successfully)\b/;

const ABANDONED_MS = 86_400_000;

class Cancelled extends Error {}

type Progress = vscode.Progress<{ message?: string }>;

/**
 * Install with a progress message; returns whether it worked. The old environment stays in use until then.
 * `bundled` is the folder with the wheel that came with the extension.
 */
export async function install(folder: string, bundled: string, log: vscode.LogOutputChannel): Promise<boolean> {
    const options = { location: vscode.ProgressLocation.Notification, title: 'Infill', cancellable: true };
    return vscode.window.withProgress(options, async (progress, token) => {
        await fs.mkdir(folder, { recursive: true });
        const environment = await fs.mkdtemp(path.join(folder, 'env-'));
        try {
            await fill(environment, await sourceIn(bundled), progress, token, log);
            const before = await fs.readFile(path.join(folder, CURRENT), 'utf8').catch(() => '');
            await fs.writeFile(path.join(folder, CURRENT), path.basename(environment));
            await removeOld(folder, environment, before.trim());
            return true;
        } catch (fault) {
            await fs.rm(environment, { recursive: true, force: true });
            if (!(fault instanceof Cancelled)) {
                log.error(`could not install: ${(fault as Error).message}`);
                tell('error', `Infill could not install its server. ${(fault as Error).message}`, RETRY, SHOW_LOG);
            }
            return false;
        }
    });
}

const RETRY = { title: 'Try Again', run: () => vscode.commands.executeCommand('infill.install') };

/** What to install: the user's choice, or else the wheel that comes with the extension. */
async function sourceIn(bundled: string): Promise<string> {
    const named = vscode.workspace.getConfiguration('infill').get<string>('installFrom')?.trim();
    if (named?.startsWith('-')) {
        throw new Error(`infill.installFrom is "${named}"; it must be a package's name or the path of a wheel.`);
    }
    const [wheel] = (await fs.readdir(bundled).catch(() => [])).filter((file) => file.endsWith('.whl'));
    const source = named || (wheel && path.join(bundled, wheel));
    if (!source) {
        throw new Error('This extension was built without a bundled server. Set infill.installFrom to a wheel.');
    }
    return source;
}

async function fill(
    environment: string,
    source: string,
    progress: Progress,
    token: vscode.CancellationToken,
    log: vscode.LogOutputChannel,
): Promise<void> {
    progress.report({ message: 'looking for Python…' });
    const base = await newEnoughPython();
    const run = (python: string, ...args: string[]): Promise<void> =>
        runPython(python, args, environment, token, (line) => {
            log.info(line);
            if (TOLD.test(line)) {
                progress.report({ message: line.length > 80 ? `${line.slice(0, 79)}…` : line });
            }
        });
    progress.report({ message: 'making an environment…' });
    await run(base, '-m', 'venv', environment);
    progress.report({ message: `installing ${path.basename(source)}…` });
    const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--progress-bar', 'off'];
    await run(pythonOf(environment), ...pip, source);
    progress.report({ message: 'trying it…' });
    await run(pythonOf(environment), '-m', 'lsp_server', '--help');
}

async function newEnoughPython(): Promise<string> {
    for (const python of [...(await workspacePythons()), ...(await onPath(...PYTHONS))]) {
        if (await new Promise((resolve) => execFile(python, ['-I', '-c', NEW_ENOUGH], (error) => resolve(!error)))) {
            return python;
        }
    }
    throw new Error(
        'It needs Python 3.11 or newer with venv, and found none. Install Python, ' +
            'or on Debian and Ubuntu the package python3-venv; then try again.',
    );
}

/** Run Python isolated from the user's modules; throws its last words, or Cancelled. */
function runPython(
    python: string,
    args: string[],
    folder: string,
    token: vscode.CancellationToken,
    onLine: (line: string) => void,
): Promise<void> {
    return new Promise((resolve, reject) => {
        const isolated = args[1] === 'lsp_server' ? [] : ['-I'];
        const child = spawn(python, [...isolated, ...args], {
            cwd: folder,
            env: environmentWithProxy(),
            detached: process.platform !== 'win32',
        });
        let last = '';
        for (const stream of [child.stdout, child.stderr]) {
            createInterface({ input: stream }).on('line', (line) => {
                last = /^(ERROR|Error)/.test(line) || !last.startsWith('ERROR') ? line.trim() || last : last;
                onLine(line);
            });
        }
        const cancelling = token.onCancellationRequested(() => endTree(child));
        child.on('error', (fault) => reject(new Error(`${python} could not be run: ${fault.message}.`)));
        child.on('close', (code) => {
            cancelling.dispose();
            if (token.isCancellationRequested) {
                reject(new Cancelled());
            } else if (code === 0) {
                resolve();
            } else {
                reject(new Error(`${args.slice(0, 3).join(' ')} ended with code ${code}: ${last.slice(0, 300)}`));
            }
        });
    });
}

/** pip has children of its own. */
function endTree(child: ChildProcess): void {
    try {
        if (process.platform === 'win32' || child.pid === undefined) {
            child.kill();
        } else {
            process.kill(-child.pid, 'SIGTERM');
        }
    } catch {
        child.kill(); // it has just ended
    }
}

/** Remove the previous environment and leftovers, but not one that another window is filling. */
async function removeOld(folder: string, kept: string, before: string): Promise<void> {
    for (const name of await fs.readdir(folder)) {
        const environment = path.join(folder, name);
        if (name.startsWith('env-') && environment !== kept) {
            const made = await fs.stat(environment).catch(() => undefined);
            if (name === before || (made && Date.now() - made.mtimeMs > ABANDONED_MS)) {
                await fs.rm(environment, { recursive: true, force: true }).catch(() => undefined);
            }
        }
    }
}

/** Finds the server: in the setting, the workspace's Python, the PATH, or the extension's own environment. */

import { execFile } from 'node:child_process';
import { constants, promises as fs } from 'node:fs';
import { homedir } from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';

/** A command line that starts the server, and where it was found, in words. */
export interface ServerCommand {
    command: string;
    args: string[];
    origin: string;
}

/** The file that names which of the extension's environments is in use. */
export const CURRENT = 'current';

/** A setting that cannot be used; the message says what to do. */
export class BadSetting extends Error {}

const WINDOWS = process.platform === 'win32';
const PROBE_MS = 15_000;
const OTHERS_MS = 5_000; // to wait for another extension
const PROBE = 'import sys, importlib.util as u; sys.exit(sys.version_info < (3, 11) or u.find_spec("lsp_server") is None)';

/** The server to start, or undefined if there is none. Throws BadSetting. `own` is the folder of our environments. */
export async function locate(own: string): Promise<ServerCommand | undefined> {
    return (await fromSetting()) ?? (await fromWorkspace(own)) ?? (await fromPath()) ?? (await fromOwn(own));
}

/** The interpreters that belong to the workspace, the chosen one first. None in an untrusted workspace. */
export async function workspacePythons(): Promise<string[]> {
    if (!vscode.workspace.isTrusted) {
        return [];
    }
    const pythons = [await chosenInterpreter()];
    for (const folder of workspaceFolders()) {
        for (const name of ['.venv', 'venv', 'env']) {
            pythons.push(pythonOf(path.join(folder, name)));
        }
    }
    const there = await Promise.all(pythons.map(async (python) => (python && (await isExecutable(python)) ? python : '')));
    return [...new Set(there.filter(Boolean))];
}

/** The interpreter of a virtual environment. */
export function pythonOf(environment: string): string {
    return WINDOWS ? path.join(environment, 'Scripts', 'python.exe') : path.join(environment, 'bin', 'python');
}

/** The executables of these names on the PATH, in its order. */
export async function onPath(...names: string[]): Promise<string[]> {
    const found: string[] = [];
    for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
        for (const name of names) {
            const file = path.join(folder, WINDOWS ? `${name}.exe` : name);
            // A relative entry would depend on the current folder.
            if (path.isAbsolute(folder) && (await isExecutable(file))) {
                found.push(file);
            }
        }
    }
    return found;
}

async function fromSetting(): Promise<ServerCommand | undefined> {
    const wanted: unknown = vscode.workspace.getConfiguration('infill').get('serverPath');
    if (typeof wanted !== 'string') {
        throw new BadSetting('infill.serverPath must be the path of the program infill-ls, as text in quotation marks.');
    }
    if (!wanted.trim()) {
        return undefined;
    }
    const file = expand(wanted.trim());
    const [named] = path.basename(file) === file ? await onPath(file) : [];
    const command = named ?? file;
    if (!path.isAbsolute(command) || !(await isExecutable(command))) {
        throw new BadSetting(
            `infill.serverPath is "${wanted}", which cannot be run. ` +
                'Correct it, or clear it so that the extension looks for the server.',
        );
    }
    return { command, args: [], origin: 'the setting infill.serverPath' };
}

async function fromWorkspace(own: string): Promise<ServerCommand | undefined> {
    for (const python of await workspacePythons()) {
        if (await hasServer(python, own)) {
            return { command: python, args: ['-m', 'lsp_server'], origin: 'the workspace\'s Python environment' };
        }
    }
    return undefined;
}

async function fromPath(): Promise<ServerCommand | undefined> {
    const [command] = await onPath('infill-ls');
    return command ? { command, args: [], origin: 'the PATH' } : undefined;
}

async function fromOwn(own: string): Promise<ServerCommand | undefined> {
    const environment = await fs.readFile(path.join(own, CURRENT), 'utf8').catch(() => '');
    const python = environment && pythonOf(path.join(own, environment.trim()));
    return python && (await isExecutable(python))
        ? { command: python, args: ['-m', 'lsp_server'], origin: 'the environment that Infill made for itself' }
        : undefined;
}

/** Run in our own folder: Python imports from the current folder first, and a workspace could contain fake modules. */
function hasServer(python: string, folder: string): Promise<boolean> {
    return new Promise((resolve) => {
        execFile(python, ['-c', PROBE], { cwd: folder, timeout: PROBE_MS }, (error) => resolve(error === null));
    });
}

/** The interpreter selected in the Python extension, if that is installed. */
async function chosenInterpreter(): Promise<string | undefined> {
    try {
        const api = await within(OTHERS_MS, pythonExtension());
        const resource = vscode.window.activeTextEditor?.document.uri;
        const chosen = api?.environments?.getActiveEnvironmentPath(resource)?.path;
        const set: unknown = vscode.workspace.getConfiguration('python').get('defaultInterpreterPath');
        const file = chosen ?? (typeof set === 'string' ? expand(set) : undefined);
        return file && path.isAbsolute(file) ? file : undefined;
    } catch {
        return undefined; // a fault in another extension must not stop this one
    }
}

/** Listen for another interpreter chosen in the Python extension. */
export function onDidChooseInterpreter(listener: () => void): vscode.Disposable {
    const disposables: vscode.Disposable[] = [];
    void pythonExtension().then((api) => {
        const listening = api?.environments?.onDidChangeActiveEnvironmentPath?.(listener);
        disposables.push(...(listening ? [listening] : []));
    }, () => undefined);
    return new vscode.Disposable(() => disposables.forEach((disposable) => void disposable.dispose()));
}

async function pythonExtension(): Promise<PythonApi | undefined> {
    return (await vscode.extensions.getExtension('ms-python.python')?.activate()) as PythonApi | undefined;
}

/** The result of a promise; undefined if it takes too long. */
function within<T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined> {
    return Promise.race([promise, new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), milliseconds))]);
}

interface PythonApi {
    environments?: {
        getActiveEnvironmentPath(resource?: vscode.Uri): { path: string } | undefined;
        onDidChangeActiveEnvironmentPath?: vscode.Event<unknown>;
    };
}

/** Paths of the workspace's folders on this machine, the active editor's first. */
function workspaceFolders(): string[] {
    const active = vscode.window.activeTextEditor?.document.uri;
    const first = active && vscode.workspace.getWorkspaceFolder(active);
    const all = [...(first ? [first] : []), ...(vscode.workspace.workspaceFolders ?? [])];
    return [...new Set(all.filter((folder) => folder.uri.scheme === 'file').map((folder) => folder.uri.fsPath))];
}

function expand(file: string): string {
    const folder = workspaceFolders()[0] ?? '';
    return file.replaceAll('${workspaceFolder}', folder).replace(/^~(?=$|[\\/])/, homedir());
}

async function isExecutable(file: string): Promise<boolean> {
    try {
        await fs.access(file, constants.X_OK);
        return (await fs.stat(file)).isFile();
    } catch {
        return false;
    }
}

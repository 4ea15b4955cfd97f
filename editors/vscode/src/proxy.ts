/** The proxy of VS Code's settings, for the programs that the extension starts. They read environment variables only. */

import * as vscode from 'vscode';

const NAMES = ['HTTPS_PROXY', 'HTTP_PROXY'];

/** The environment of this process, with the proxy that `http.proxy` names unless a variable already names one. */
export function environmentWithProxy(): NodeJS.ProcessEnv {
    const proxy = vscode.workspace.getConfiguration('http').get<string>('proxy')?.trim();
    const known = NAMES.some((name) => process.env[name] || process.env[name.toLowerCase()]);
    return proxy && !known ? { ...process.env, ...Object.fromEntries(NAMES.map((name) => [name, proxy])) } : process.env;
}

/** Changes the user's settings: turns infill on and off, for everything or for a language. */

import * as vscode from 'vscode';
import { OPEN_SETTINGS, tell } from './messages';

/** Whether infill is on at all. */
export function isOn(): boolean {
    return section().get<unknown>('enable') !== false;
}

/** Whether it is on for a language, as the server reads the setting. */
export function languageIsOn(language: string): boolean {
    const languages = asObject(section().get('languages'));
    return languages[language] ?? languages['*'] ?? true;
}

/** Whether next edits are proposed. */
export function nextEditsAreOn(): boolean {
    return isOn() && section().get<unknown>('nextEdits') !== false;
}

export async function toggleNextEdits(): Promise<void> {
    await change('nextEdits', section().get<unknown>('nextEdits') === false);
}

/** Whether the model is asked where nothing is necessary. */
export function nextEditModelIsOn(): boolean {
    return section().get<unknown>('nextEditModel') === true;
}

export async function toggleNextEditModel(): Promise<void> {
    await change('nextEditModel', !nextEditModelIsOn());
}

export async function toggle(): Promise<void> {
    await change('enable', !isOn());
}

export async function toggleLanguage(): Promise<void> {
    const language = vscode.window.activeTextEditor?.document.languageId;
    if (!language) {
        tell('information', 'Open a file of the language first.');
        return;
    }
    await change('languages', { ...asObject(section().get('languages')), [language]: !languageIsOn(language) });
}

/** Write a setting to the scope that sets it now, so that the change takes effect; else to the user's settings. */
export async function change(key: string, value: unknown): Promise<void> {
    const set = section().inspect(key);
    const target =
        set?.workspaceValue === undefined ? vscode.ConfigurationTarget.Global : vscode.ConfigurationTarget.Workspace;
    try {
        await section().update(key, value, target);
    } catch (fault) {
        tell('error', `Infill could not change the setting infill.${key}: ${(fault as Error).message}`, OPEN_SETTINGS);
    }
}

export function section(): vscode.WorkspaceConfiguration {
    return vscode.workspace.getConfiguration('infill');
}

/** The setting may also be a list of enabled languages. */
function asObject(languages: unknown): Record<string, boolean> {
    if (Array.isArray(languages)) {
        const names = languages.filter((name) => typeof name === 'string');
        return { '*': names.includes('*'), ...Object.fromEntries(names.map((name) => [name, true])) };
    }
    return typeof languages === 'object' && languages !== null ? { ...(languages as Record<string, boolean>) } : {};
}

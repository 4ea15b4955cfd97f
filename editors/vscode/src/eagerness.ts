/** The levels of eagerness, and the cost of each. */

import * as vscode from 'vscode';
import { type EngineStatus, type Level, statusRequest } from './protocol';
import type { Server } from './server';
import { change, section } from './toggle';

const LEVELS = ['quiet', 'balanced', 'eager'];

/** Let the user choose a level. Each shows its cost with the running model. */
export async function chooseEagerness(server: Server): Promise<void> {
    const status: EngineStatus | null | undefined = await server.client?.sendRequest(statusRequest, {}).catch(() => undefined);
    const items = LEVELS.map((label) => {
        const description = label === status?.eagerness ? 'now' : '';
        return { label, description, detail: costWords(status?.levels?.[label]) };
    });
    const chosen = await vscode.window.showQuickPick(items, { title: 'How readily should suggestions appear?' });
    if (!chosen) {
        return;
    }
    await change('eagerness', chosen.label);
    if (typeof section().get<unknown>('showThreshold') === 'number') {
        await change('showThreshold', null); // the number would take precedence over the level
    }
}

/** The cost of a level, if it was measured. */
function costWords(level: Level | undefined): string {
    return level?.shown && level.wrong
        ? `Shown at ${Math.round(100 * level.shown)} % of keystrokes, 1 in ${Math.round(1 / level.wrong)} wrong`
        : '';
}

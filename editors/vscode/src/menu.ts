/** The menu behind the status bar item. */

import * as vscode from 'vscode';
import { isOn, languageIsOn, nextEditModelIsOn, nextEditsAreOn } from './toggle';
import type { Server } from './server';
import { viewOf } from './words';

interface Entry extends vscode.QuickPickItem {
    command?: string;
    args?: unknown[];
}

export async function showMenu(server: Server, isModelMissing: boolean): Promise<void> {
    const view = viewOf(server.status);
    const title = view.tooltip.replace(/[`*]/g, '');
    const chosen = await vscode.window.showQuickPick(entries(server, isModelMissing), { title, placeHolder: `${view.text}. What next?` });
    if (chosen?.command) {
        await vscode.commands.executeCommand(chosen.command, ...(chosen.args ?? []));
    }
}

function entries(server: Server, isModelMissing: boolean): Entry[] {
    const language = vscode.window.activeTextEditor?.document.languageId;
    const separator: Entry = { label: '', kind: vscode.QuickPickItemKind.Separator };
    const list: Entry[] = [];
    if (server.status.state === 'missing') {
        list.push({ label: '$(cloud-download) Install Server', command: 'infill.install' }, separator);
    }
    if (isModelMissing) {
        list.push({ label: '$(cloud-download) Download Default Model', command: 'infill.downloadDefaultModel' }, separator);
    }
    list.push({ label: '$(list-selection) Pick Candidate', command: 'infill.pickCandidate' }, separator);
    list.push({ label: isOn() ? '$(circle-slash) Switch Off' : '$(sparkle) Switch On', command: 'infill.toggle' });
    if (language) {
        const label = `${languageIsOn(language) ? '$(circle-slash) Switch Off' : '$(sparkle) Switch On'} for ${language}`;
        list.push({ label, command: 'infill.toggleLanguage' });
    }
    if (isOn()) {
        list.push({ label: '$(settings) Choose Eagerness', command: 'infill.chooseEagerness' });
        const label = nextEditsAreOn() ? '$(circle-slash) Switch Off Next Edits' : '$(edit) Switch On Next Edits';
        list.push({ label, command: 'infill.toggleNextEdits' });
        if (nextEditsAreOn()) {
            const model = nextEditModelIsOn() ? '$(circle-slash) Switch Off Next Edits of the Model' : '$(sparkle) Switch On Next Edits of the Model';
            list.push({ label: model, command: 'infill.toggleNextEditModel' });
        }
    }
    list.push(
        separator,
        { label: '$(info) Show Status', command: 'infill.showStatus' },
        { label: '$(graph) Show Statistics', command: 'infill.showStatistics' },
        { label: '$(debug-restart) Restart Engine', command: 'infill.restart' },
        { label: '$(pulse) Doctor', command: 'infill.doctor' },
        { label: '$(output) Show Log', command: 'infill.showLog' },
        { label: '$(gear) Settings', command: 'workbench.action.openSettings', args: ['@ext:infill-ls.infill'] },
    );
    return list;
}

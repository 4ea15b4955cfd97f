// The errors that TypeScript's language service finds in texts, one JSON line for each job:
//
//     node diagnostics.mjs TYPESCRIPT JOBS-AS-JSON
//
// TYPESCRIPT is the folder of the package `typescript` (5.x). A job is {path, texts}; each text is a program of its own.
// Its line has a list of "code message" for each text.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const [folder, list] = process.argv.slice(2);
const ts = require(folder);
const settings = { allowJs: true, checkJs: true, noResolve: true, target: ts.ScriptTarget.Latest, jsx: ts.JsxEmit.Preserve };
const library = ts.getDefaultLibFilePath(settings);
let current = { path: '', text: '', version: 0 };
const host = {
    getCompilationSettings: () => settings,
    getScriptFileNames: () => [current.path],
    getScriptVersion: (name) => (name === current.path ? String(current.version) : '1'),
    getScriptSnapshot: (name) => (host.fileExists(name) ? ts.ScriptSnapshot.fromString(host.readFile(name)) : undefined),
    getCurrentDirectory: () => '/',
    getDefaultLibFileName: () => library,
    fileExists: (name) => name === current.path || existsSync(name),
    readFile: (name) => (name === current.path ? current.text : readFileSync(name, 'utf8')),
};
const service = ts.createLanguageService(host, ts.createDocumentRegistry());

for (const { path, texts } of JSON.parse(readFileSync(list, 'utf8'))) {
    console.log(JSON.stringify(texts.map((text) => errors(path, text))));
}

function errors(path, text) {
    current = { path, text, version: current.version + 1 };
    const found = [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)];
    return found
        .filter(({ category }) => category === ts.DiagnosticCategory.Error)
        .map(({ code, messageText }) => `${code} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
}

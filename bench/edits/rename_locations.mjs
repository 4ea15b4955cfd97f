// Renames that TypeScript's language service finds, one JSON line for each:
//
//     node rename_locations.mjs TYPESCRIPT FILES-AS-JSON
//
// TYPESCRIPT is the folder of the package `typescript` (5.x), FILES-AS-JSON a file that holds a list of paths. Each file
// is a program of its own. A line has the path, the kind of the symbol, and the start and end of each of its places in
// UTF-16 units, the definition first, with what the service wants written before and after the new name.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const [folder, list] = process.argv.slice(2);
const ts = require(folder);
const MOST_NAMES = 400; // of one file

for (const path of JSON.parse(readFileSync(list, 'utf8'))) {
    const text = readFileSync(path, 'utf8');
    const service = serviceFor(path, text);
    const source = service.getProgram().getSourceFile(path);
    const seen = new Set();
    let names = 0;
    const visit = (node) => {
        if (ts.isIdentifier(node) && names < MOST_NAMES && node.parent.name === node) {
            names++;
            const found = places(service, path, node.getStart(source), node.parent);
            if (found && !seen.has(found.key)) {
                seen.add(found.key);
                console.log(JSON.stringify({ path, kind: found.kind, name: node.text, places: found.places }));
            }
        }
        ts.forEachChild(node, visit);
    };
    visit(source);
}

function serviceFor(path, text) {
    const host = {
        getCompilationSettings: () => ({ allowJs: true, noLib: true, noResolve: true, target: ts.ScriptTarget.Latest }),
        getScriptFileNames: () => [path],
        getScriptVersion: () => '1',
        getScriptSnapshot: (name) => (name === path ? ts.ScriptSnapshot.fromString(text) : undefined),
        getCurrentDirectory: () => '/',
        getDefaultLibFileName: () => 'lib.d.ts',
        fileExists: (name) => name === path,
        readFile: (name) => (name === path ? text : undefined),
    };
    return ts.createLanguageService(host);
}

function places(service, path, at, declaration) {
    const options = { providePrefixAndSuffixTextForRename: true };
    if (!service.getRenameInfo(path, at, options).canRename) {
        return undefined;
    }
    const found = service.findRenameLocations(path, at, false, false, options) ?? [];
    if (found.length < 2 || found.some(({ fileName }) => fileName !== path)) {
        return undefined;
    }
    const all = found.map(({ textSpan: { start, length }, prefixText = '', suffixText = '' }) => [
        start,
        start + length,
        prefixText,
        suffixText,
    ]);
    all.sort(([one], [other]) => Number(other === at) - Number(one === at) || one - other);
    const key = Math.min(...all.map(([start]) => start)) + '-' + all.length;
    return { key, kind: ts.SyntaxKind[declaration.kind], places: all };
}

"""Types lines of real files into the real server at five keys a second, and judges what an editor would show.

    python -m bench.typing FOLDER [--places 300] [--keys 12] [--seed 0] [--model default] --out typing.jsonl

FOLDER holds a folder of source files for each language, named by its LSP identifier. Each language gets the same number
of places. The server runs with its default settings. Writes one JSON line per keystroke to --out; the last line printed
is one JSON object.

A suggestion is `right` if the document goes on with it, `begun` if only its beginning does, and otherwise `wrong`.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.json_lines import write_lines
from bench.replay.client import LspClient
from bench.replay.keystrokes import Replay, apply, make_place
from bench.replay.typing_runs import close_document, open_document, rest_cursor, watched
from bench.sources import read_folder
from infill_engine.errors import InfillError, InputError

SETTLE_SECONDS = 1.0  # between placing the cursor in a document and the first keystroke
CHARS = 60  # of the text on both sides in the results


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    client = None
    try:
        chosen = list(places(options.folder, options.places, options.seed))
        client = LspClient(sys.stderr if options.log else subprocess.DEVNULL)
        client.initialize({"model": options.model} if options.model else {}, late_answers=True)
        client.until_ready()
        rows = [row for number, place in enumerate(chosen) for row in _typed(client, number, *place, options.keys)]
        client.close()
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    finally:
        if client is not None:
            client.process.kill()
    write_lines(rows, options.out)
    print(json.dumps(figures(rows) | {"seed": options.seed}))
    return 0


def places(folder: Path, count: int, seed: int) -> Iterator[tuple[str, str, Replay]]:
    """Yield places to type at: the language, the file and the keystrokes. Raises InputError if there are too few."""
    languages = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    if not languages:
        raise InputError(f"{folder} has no folder of source files: make one for each language, named as LSP names it")
    for language in languages:
        rng, files, found = random.Random(f"{seed} {language.name}"), read_folder(language), 0
        for _ in range(20 * count):
            file = rng.choice(files)
            place = make_place(file, rng)
            if place is not None and found < count // len(languages):
                found += 1
                yield language.name, file.path, place


def verdict(shown: str, follows: str) -> str:
    """Judge a shown text by what follows in the document."""
    if not shown:
        return "silent"
    if follows.startswith(shown):
        return "right"
    return "begun" if follows[:1] == shown[:1] else "wrong"


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Count the verdicts. The shares are of what was shown, in percent."""
    counts = Counter(row["verdict"] for row in rows)
    shown = len(rows) - counts["silent"]
    shares = {name: round(100 * counts[name] / max(shown, 1), 1) for name in ("right", "begun", "wrong")}
    return {"places": len({row["place"] for row in rows}), "keys": len(rows), "shown": shown, **shares}


def _typed(
    client: LspClient, number: int, language: str, path: str, place: Replay, most: int
) -> Iterator[dict[str, Any]]:
    """Yield a row for each of the first keystrokes after which something of the line or the arguments is left."""
    uri, lines = f"file:///typed/{number}/{path}", place.text.split("\n")
    open_document(client, uri, place.text, language)
    rest_cursor(client, uri, place.keystrokes[0])
    time.sleep(SETTLE_SECONDS)
    whole = place.text.split("\n")
    for key in place.keystrokes:
        apply(whole, key)
    typed = Replay(place.text, place.keystrokes[:most])
    for key, shown in zip(typed.keystrokes, watched(client, uri, typed), strict=True):
        apply(lines, key)
        row, column = key.cursor
        follows = "\n".join([whole[row][column:], *whole[row + 1 :]])
        if follows[:1].strip() or shown:
            yield {
                "place": number,
                "language": language,
                "file": path,
                "row": row,
                "left": lines[row][:column][-CHARS:],
                "right": lines[row][column:][:CHARS],
                "follows": follows[:CHARS],
                "shown": shown,
                "verdict": verdict(shown, follows),
            }
    close_document(client, uri)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.typing", description="Judges what is shown while typing.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--places", type=int, default=300)
    parser.add_argument("--keys", type=int, default=12, help="keystrokes at each place")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="", help="the default model if none is named")
    parser.add_argument("--log", action="store_true", help="show what the server logs")
    parser.add_argument("--out", type=Path, required=True)
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""What a VS Code window shows."""

import json
from dataclasses import dataclass

from driver.browser import Browser

PALETTE = ".quick-input-widget:not([style*='display: none'])"
_GHOST = """() => [...document.querySelectorAll('.monaco-editor [class*=ghost-text]')]
    .filter(element => !element.parentElement.closest('[class*=ghost-text]:not(.ghost-text-view-lines)'))
    .map(element => [element.getBoundingClientRect(), element.textContent.replaceAll('\\u00a0', ' ')])
    .sort(([one], [other]) => one.top - other.top || one.left - other.left)
    .map(([_, text]) => text)"""


# Of the active editor: its text, the ghost text in it, whether that begins at the cursor.
_SEEN = """() => {
    const all = selector => [...document.querySelectorAll('.editor-instance ' + selector)]
        .sort((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top);
    const parts = (row, ghost) => [...row.querySelectorAll(':scope > span > span')]
        .filter(part => ['ghost-text', 'ghost-text-decoration'].some(name => part.classList.contains(name)) === ghost);
    const words = parts => parts.map(part => part.textContent.replaceAll('\\u00a0', ' ')).join('');
    const rows = all('.view-lines > .view-line');
    const begins = rows.map(row => parts(row, true)).find(parts => parts.length) ?? [];
    const further = all('.view-zones .view-line').map(row => words(parts(row, true)));
    const ghost = [words(begins), ...further].join('\\n');
    const at = element => element?.getBoundingClientRect() ?? { left: -9, top: -9 };
    const [place, cursor] = [at(begins[0]), at(all('.cursor')[0])];
    const near = Math.abs(place.left - cursor.left) < 3 && Math.abs(place.top - cursor.top) < 9;
    return { text: rows.map(row => words(parts(row, false))).join('\\n'), ghost, at_cursor: near };
}"""


_NOTE_KEYS = f"() => window.addEventListener('keydown', () => {{ window.seenAtKey = ({_SEEN})(); }}, true)"


_PREVIEW = """() => [...document.querySelectorAll('.view-lines span')]
    .flatMap(element => ['::before', '::after'].map(part => getComputedStyle(element, part).content))
    .filter(content => !['none', 'normal'].includes(content))
    .map(content => content.slice(1, -1).replaceAll('\\u00a0', ' ')).join('')"""


_TEXTS = """selector => [...document.querySelectorAll(selector)]
    .map(element => element.textContent.replaceAll('\\u00a0', ' '))"""


# What an extension's decorations mark: places after the text, and words of the lines that they add. These lines begin
# with two unmarked letters.
_MARKED = """() => {
    const behind = document.querySelectorAll('.view-overlays .cdr[class*=TextEditorDecorationType]').length;
    const added = [...document.querySelectorAll('.view-lines span')].flatMap(element => {
        const { backgroundImage, content } = getComputedStyle(element, '::before');
        const stops = [...backgroundImage.matchAll(/(rgba?[(][^)]*[)]) ([0-9.]+)px/g)]
            .map(([, color, at]) => [color, Number(at)]);
        const column = at => 1 + Math.round(2 * at / stops[1][1]);
        return stops.flatMap(([color, end], i) => i % 2 && color !== stops[0][0]
            ? [content.slice(column(stops[i - 1][1]), column(end)).replaceAll('\\u00a0', ' ')] : []);
    });
    return [behind, added];
}"""


@dataclass(frozen=True)
class Seen:
    """What the active editor shows, as far as it is on the screen. `at_cursor`: the ghost text begins there."""

    text: str
    ghost: str
    at_cursor: bool


class Screen:
    """Reads a window's page."""

    browser: Browser

    def texts(self, selector: str) -> list[str]:
        """The texts of the elements that a selector finds."""
        found: list[str] = self.browser.call("evaluate", f"({_TEXTS})({json.dumps(selector)})")
        return found

    def ghost(self) -> str:
        """The ghost text shown, "" for none."""
        return "".join(self.browser.call("evaluate", f"({_GHOST})()"))

    def seen(self) -> Seen:
        """What the active editor shows."""
        return Seen(**self.browser.call("evaluate", f"({_SEEN})()"))

    def note_keys(self) -> None:
        """From now on note what the active editor shows when a key goes down."""
        self.browser.call("evaluate", f"window.seenAtKey || ({_NOTE_KEYS})()")

    def seen_at_key(self) -> Seen:
        """What the active editor showed in the moment when the latest key went down."""
        return Seen(**self.browser.call("evaluate", "window.seenAtKey"))

    def cursor(self) -> str:
        """The place of the cursor, as the status bar has it."""
        return "".join(self.texts("[id='status.editor.selection']"))

    def rows(self) -> list[str]:
        """The rows of an open quick pick."""
        return self.texts(f"{PALETTE} .quick-input-list .monaco-list-row")

    def title(self) -> str:
        """The title of an open quick pick."""
        return "".join(self.texts(f"{PALETTE} .quick-input-title"))

    def preview(self) -> str:
        """What an extension's decorations show after the text."""
        return str(self.browser.call("evaluate", f"({_PREVIEW})()"))

    def marked(self) -> tuple[int, list[str]]:
        """How many places an extension's decorations mark after the text, and which words of the lines they add."""
        behind, added = self.browser.call("evaluate", f"({_MARKED})()")
        return behind, added

    def text(self) -> str:
        """The text of the active editor, as far as it is on the screen."""
        return "\n".join(self.texts(".editor-instance .view-line"))

    def status(self) -> str:
        """What the status bar says of infill."""
        return "".join(self.texts("[id='infill-ls.infill.infill.status']")).strip()

    def sentence(self) -> str:
        """What a screen reader says of infill's item in the status bar."""
        found = "document.querySelector(\"[id='infill-ls.infill.infill.status'] a\")?.ariaLabel ?? ''"
        return str(self.browser.call("evaluate", found))

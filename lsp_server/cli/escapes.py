"""Text from elsewhere as a terminal may show it."""


def visible(text: str) -> str:
    """`text` with whatever a terminal would not show, or would obey, written as an escape; a tab as four spaces."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else "    " if character == "\t" else _escape(character)
        for character in text
    )


def visible_lines(text: str) -> str:
    """The same, of a text that keeps its lines."""
    return "\n".join(map(visible, text.split("\n")))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

"""Makes untrusted text safe to print in a terminal."""


def visible(text: str) -> str:
    """Return `text` with invisible and control characters written as escapes. A tab becomes four spaces."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else "    " if character == "\t" else _escape(character)
        for character in text
    )


def visible_lines(text: str) -> str:
    """Like `visible`, but keeps line breaks."""
    return "\n".join(map(visible, text.split("\n")))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

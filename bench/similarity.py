"""How close a candidate comes to the original text. Both are trimmed before they are compared."""

from infill_engine.diagnostics.benchmark.problems.judging import trimmed


def levenshtein(one: str, other: str) -> int:
    """Return the edit distance: insertions, deletions and substitutions (Hyyrö 2003: one column as one integer)."""
    if len(one) < len(other):
        one, other = other, one
    if not other:
        return len(one)
    places: dict[str, int] = {}
    for row, character in enumerate(other):
        places[character] = places.get(character, 0) | 1 << row
    everything, last = (1 << len(other)) - 1, 1 << (len(other) - 1)
    up, down, distance = everything, 0, len(other)
    for character in one:
        equal = places.get(character, 0)
        vertical = equal | down
        diagonal = (((equal & up) + up) ^ up) | equal
        right = down | ~(diagonal | up)
        left = up & diagonal
        distance += bool(right & last) - bool(left & last)
        right = (right << 1) | 1
        up = ((left << 1) | ~(vertical | right)) & everything
        down = right & vertical & everything
    return distance


def edit_similarity(candidate: str, gold: str) -> float:
    """Return 1 - distance / length of the longer text, after trimming; 1 for equal texts, 0 for silence."""
    one, other = trimmed(candidate), trimmed(gold)
    longest = max(len(one), len(other))
    return 1 - levenshtein(one, other) / longest if longest else 1.0

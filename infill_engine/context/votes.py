"""A vote on how the hole is filled: each place that is like it votes for what follows there."""

import re

_SPACES = re.compile(r"\s+")


class Votes:
    """Texts that differ in blanks only are one; the first of them is what stands for it."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._matched: dict[str, int] = {}
        self._votes: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def vote(self, text: str, matched: int, weight: float) -> None:
        """Count a vote of some weight, from a place that agrees on so many characters. A blank text gets none."""
        key = _SPACES.sub(" ", text.strip())
        if key:
            self._texts.setdefault(key, text)
            self._matched[key] = max(self._matched.get(key, 0), matched)
            self._votes[key] = self._votes.get(key, 0.0) + weight

    def best(self, limit: int) -> list[tuple[str, int, float]]:
        """The texts with the most votes, most first; how many characters matched for each, and its share of all."""
        total = sum(self._votes.values())
        best = sorted(self._votes, key=lambda key: -self._votes[key])[:limit]
        return [(self._texts[key], self._matched[key], self._votes[key] / total) for key in best]

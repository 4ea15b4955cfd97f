"""A vote on the hole's text: each similar place votes for the text that follows it."""

import re

_SPACES = re.compile(r"\s+")


class Votes:
    """Texts that differ only in whitespace count as one; the first of them represents all."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._matched: dict[str, int] = {}
        self._votes: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def vote(self, text: str, matched: int, weight: float) -> None:
        """Add a vote, from a place that matches `matched` characters. Votes for blank texts are ignored."""
        key = _SPACES.sub(" ", text.strip())
        if key:
            self._texts.setdefault(key, text)
            self._matched[key] = max(self._matched.get(key, 0), matched)
            self._votes[key] = self._votes.get(key, 0.0) + weight

    def best(self, limit: int) -> list[tuple[str, int, float]]:
        """Return the texts with the most votes, best first, each with its matched characters and its share of all
        votes."""
        total = sum(self._votes.values())
        best = sorted(self._votes, key=lambda key: -self._votes[key])[:limit]
        return [(self._texts[key], self._matched[key], self._votes[key] / total) for key in best]

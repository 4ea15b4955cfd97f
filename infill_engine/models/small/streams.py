"""Both context streams, encoded in parts, with keys and values kept across keystrokes."""

from typing import Generic

from infill_engine.budget.work import Job, OutOfTime, Phase, Work
from infill_engine.models.base import Ints
from infill_engine.models.kv_cache.prefix_cache import StreamCache
from infill_engine.models.small.backends.interface import Backend
from infill_engine.models.small.encoded import Array, Stream
from infill_engine.models.small.network.dual_encoder import PREFIX, SUFFIX

CACHED_STREAMS = 4  # of each direction
PART = 128  # tokens encoded at once; a deadline or the next keystroke can interrupt between two parts


class CachedStreams(Generic[Array]):
    """Encodes only the new part of each stream."""

    def __init__(self, backend: Backend[Array]) -> None:
        self._backend = backend
        self._caches = {direction: StreamCache[Stream[Array]](CACHED_STREAMS) for direction in (PREFIX, SUFFIX)}

    def encode(self, ids: Ints, direction: int) -> Job[tuple[Stream[Array], int]]:
        """Return the stream of `ids` [T], in stream order, and how many tokens had to be computed.

        If time runs out, the part encoded so far is kept.
        """
        cache = self._caches[direction]
        cached, shared = cache.nearest(ids)
        stream = self._backend.empty_stream() if cached is None else cached.cut(shared)
        for start in range(shared, len(ids), PART):
            end = min(start + PART, len(ids))
            try:
                yield Work(Phase.READ, end - start)
            except OutOfTime:
                if start > shared:
                    cache.put(ids[:start], stream)
                raise
            stream = self._backend.extend(stream, ids[:end], direction)
        if shared < len(ids):
            cache.put(ids, stream)
        return stream, len(ids) - shared

"""Programs of others that take part in the fight, where they can be had."""

from infill_engine.diagnostics.benchmark.systems.answered import Peer


def find_peers(llama_server: str | None, gguf: str | None) -> tuple[tuple[Peer, ...], list[tuple[str, str]]]:
    """The peers that are available here, and the name of each other one with the reason why it is not."""
    del llama_server, gguf
    return (), []

"""A server that also tells what text it holds. It is the product's in everything else.

soak/text   request   {uri} -> {digest} of the document's text; null if it is not open
"""

from hashlib import blake2b
from typing import Any

from infill_engine.process import exit_now
from lsp_server import server
from lsp_server.engine_client.link import Command, engine_command
from lsp_server.session import Session

TEXT = "soak/text"


def digest(text: str) -> str:
    """Return what two equal texts have in common."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def main() -> None:
    """Serve on stdin and stdout."""
    create = server.create_server

    def create_with_witness(command: Command = engine_command) -> tuple[server.InfillServer, Session]:
        made, session = create(command)

        def text(params: Any) -> dict[str, str | None]:
            snapshot = session.workspace.documents.get(params.uri)
            return {"digest": None if snapshot is None else digest("".join(snapshot.lines))}

        made.feature(TEXT)(text)
        return made, session

    server.create_server = create_with_witness
    status = server.serve_stdio()
    exit_now(status)


if __name__ == "__main__":
    main()

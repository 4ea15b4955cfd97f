"""A progress bar in the client: `$/progress` with a token of ours or of the client's."""

import asyncio
import itertools
import logging
import os
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from lsp_server.protocol.wire import WireProtocol

_tokens = itertools.count(1)
log = logging.getLogger(__name__)


class ProgressBar:
    """One progress bar. With the client's `token` it begins at once.

    Otherwise a separate task, which is never cancelled, asks the client for a token. The client may refuse.
    """

    def __init__(
        self,
        protocol: "WireProtocol",
        title: str,
        token: int | str | None = None,
        *,
        cancellable: bool = False,
    ) -> None:
        self.token = token if token is not None else f"infill-{os.getpid()}-{next(_tokens)}"
        self._protocol = protocol
        self._title = title
        self._cancellable = cancellable
        self._accepted = False
        self._ended = False
        self._latest: tuple[str, float] | None = None
        if token is None:
            self._asking = asyncio.ensure_future(self._ask())
        else:
            self._begin()

    def report(self, doing: str, share: float) -> None:
        """Show the current task and the share of it that is done, 0 to 1."""
        self._latest = doing, share
        if self._accepted:
            percent = round(100 * min(max(share, 0.0), 1.0))
            self._send(types.WorkDoneProgressReport(message=doing or None, percentage=percent))

    def end(self, message: str | None = None) -> None:
        """Remove the bar."""
        self._ended = True
        if self._accepted:
            self._send(types.WorkDoneProgressEnd(message=message))

    async def _ask(self) -> None:
        params = types.WorkDoneProgressCreateParams(token=self.token)
        try:
            await self._protocol.send_request_async(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params)
        except Exception as fault:
            log.info("the client refused a progress bar: %s", type(fault).__name__)
            return
        if not self._ended:
            self._begin()

    def _begin(self) -> None:
        self._accepted = True
        self._send(types.WorkDoneProgressBegin(title=self._title, percentage=0, cancellable=self._cancellable))
        if self._latest is not None:
            self.report(*self._latest)

    def _send(self, value: object) -> None:
        self._protocol.notify(types.PROGRESS, types.ProgressParams(token=self.token, value=value))

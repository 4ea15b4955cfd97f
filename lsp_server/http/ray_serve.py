"""Several replicas of the engine behind the same routes, on Ray Serve.

    Serve's proxy ─▶ Front: routes, limits, keys ─▶ the replica of Engine that has read the document

`app` builds the application from the arguments of a Serve configuration; `serve_ray` runs it on this machine.
"""

import asyncio
import itertools
import logging
import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import ray
from ray import serve
from ray.exceptions import RayError, RayTaskError
from ray.serve import Application
from ray.serve.config import HTTPOptions, RequestRouterConfig
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle
from ray.serve.schema import LoggingConfig
from starlette.applications import Starlette

from infill_engine.budget.deadline import now
from infill_engine.serving.protocol import State, Status
from infill_engine.serving.runtime_files import package_version
from infill_engine.stderr import say
from infill_engine.types import Answer, Reason
from lsp_server.core_files import write_no_core_files
from lsp_server.http.access import Access, checked_access
from lsp_server.http.application import application, without_text
from lsp_server.http.completing import REPLY_SECONDS, Completer
from lsp_server.http.question import Question, Reply
from lsp_server.http.serving import listening
from lsp_server.settings.schema import MOST_BUDGET_MS, read_settings

HOP_SECONDS = 0.01  # reserved for the way to a replica and back
AGAIN_SECONDS = 0.05  # before the next replica is asked
LOADING_SECONDS = 0.1  # between looks at an engine that loads
MOST_ONGOING = 16  # questions of one replica; further ones go to the next, which has to read their documents
STORE_BYTES = 128 * 1024 * 1024  # for requests of more than 100 kB on their way to a replica

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # it would report to Ray's makers
    "RAY_worker_niceness": "0",  # Ray's 15 would let everything else on the machine go first
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",  # on a busy machine, the usual 5 s are too short to import Ray
}
QUIET = LoggingConfig(log_level="WARNING", enable_access_log=False)

log = logging.getLogger(__name__)


@serve.deployment(
    num_replicas=2,
    max_ongoing_requests=MOST_ONGOING,
    request_router_config=RequestRouterConfig(
        request_router_class="ray.serve.experimental.consistent_hash_router.ConsistentHashRouter"
    ),
)
class Engine:
    """An engine with a process of its own. It exists as soon as its model is loaded."""

    async def __init__(self, content: dict[str, Any]) -> None:  # type: ignore[misc]  # Serve awaits it
        """`content` is that of a settings file. Raises RuntimeError if the model cannot be loaded."""
        cores = ray.get_runtime_context().get_assigned_resources().get("CPU", 1)
        os.environ.setdefault("INFILL_THREADS", str(max(1, int(cores))))
        write_no_core_files()
        settings, _ = read_settings(content)
        self._completer = Completer.local(settings, shared=False)
        await self._completer.start()
        while settings.enable and self._completer.status.state is State.LOADING:
            await asyncio.sleep(LOADING_SECONDS)
        self.check_health()

    async def complete(self, question: Question) -> Reply:
        """Return a reply by the question's deadline, which it must have. No fault has the user's text."""
        try:
            return await self._completer.complete(question, now())
        except Exception as fault:
            log.error("a question failed: %s", without_text(fault))
            raise RuntimeError(type(fault).__name__) from None

    def status(self) -> Status:
        """Return what the engine does."""
        return self._completer.status

    def check_health(self) -> None:
        """Raise RuntimeError if the engine has given up: Serve then replaces this replica."""
        if self._completer.status.state is State.FAILED:
            raise RuntimeError(self._completer.status.detail)


@serve.deployment(ray_actor_options={"num_cpus": 0}, max_ongoing_requests=1024)
@serve.ingress()
class Front:
    """The routes of `infill-ls serve --http`. It has no state that a request needs."""

    async def __init__(  # type: ignore[misc]  # Serve awaits it
        self, engine: DeploymentHandle, access: Access, content: dict[str, Any]
    ) -> None:
        self._replicas = Replicas(engine, read_settings(content)[0].budget_ms, await engine.status.remote())
        self._access = access

    def __serve_build_asgi_app__(self) -> Starlette:
        return application(self._replicas, self._access, package_version())


@dataclass(eq=False)
class Replicas:
    """Answers a question with the replica that has the context of its document, or else with another."""

    engine: DeploymentHandle
    budget_ms: float
    status: Status  # of the replica that was ready first

    @property
    def model(self) -> str:
        """The name of the model of all replicas."""
        return self.status.model

    async def complete(self, question: Question, arrived: float) -> Reply:
        """Return candidates, or the reason why there are none, within the budget from `arrived` (`deadline.now`).

        A question is asked again if its replica has died or is loading, as long as there is time.
        """
        budget_ms = self.budget_ms if question.budget_ms is None else question.budget_ms
        due = arrived + min(max(0.0, budget_ms), MOST_BUDGET_MS) / 1000 - REPLY_SECONDS
        try:
            async with asyncio.timeout(max(0.0, due - now())):
                reply = await self._answered(question, due)
        except TimeoutError:
            reply = Reply((), Answer(reason=Reason.DEADLINE), 0.0, self.model, 0, 0)
        return replace(reply, elapsed_ms=(now() - arrived) * 1000)

    async def _answered(self, question: Question, due: float) -> Reply:
        """Return the reply of the first replica that can answer. Raises RayTaskError if one met a fault."""
        for attempt in itertools.count():
            reply = await self._asked(question, due, attempt)
            if reply is not None:
                return reply
            await asyncio.sleep(AGAIN_SECONDS)
        raise AssertionError

    async def _asked(self, question: Question, due: float, attempt: int) -> Reply | None:
        session = f"{question.document}{attempt or ''}"
        remaining_ms = max(0.0, due - HOP_SECONDS - now()) * 1000
        asked = self.engine.options(session_id=session).complete.remote(replace(question, budget_ms=remaining_ms))
        try:
            reply: Reply = await asked
        except RayTaskError:
            raise
        except (RayError, RayServeException):  # it has died, or nobody is there
            return None
        except asyncio.CancelledError:
            asked.cancel()
            raise
        return None if reply.answer.reason in (Reason.LOADING, Reason.WORKER_FAILED) else reply


def app(arguments: Mapping[str, Any]) -> Application:
    """Return the application of a Serve configuration.

    `settings` are those of a settings file, and `api_key_file` is the path of the keys on the head node.
    """
    keys = Path(arguments["api_key_file"]) if "api_key_file" in arguments else None
    access = checked_access(arguments.get("host", "0.0.0.0"), 0, keys, None, None, plain=True)
    return _application(access, arguments.get("settings", {}))


def serve_ray(access: Access, replicas: int, settings: dict[str, Any]) -> None:
    """Serve with replicas on this machine until a signal ends this process. Raises InputError for a port in use."""
    port = _free(access)
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    ray.init(
        "local",
        num_cpus=replicas,
        object_store_memory=STORE_BYTES,
        include_dashboard=False,
        logging_level=logging.ERROR,
        log_to_driver=False,
    )
    ended = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: ended.set())
    try:
        options = HTTPOptions(
            host=access.host,
            port=port,
            ssl_keyfile=access.private_key and str(access.private_key),
            ssl_certfile=access.certificate and str(access.certificate),
        )
        serve.start("HeadOnly", options, logging_config=QUIET)
        serve.run(_application(access, settings, replicas), logging_config=QUIET)
        say(f"infill-ls: listening on {access.url(port)}")
        ended.wait()
    finally:
        serve.shutdown()
        ray.shutdown()


def _application(access: Access, settings: dict[str, Any], replicas: int = 2) -> Application:
    front, engine = cast(Any, Front), cast(Any, Engine)  # what Serve's decorators return
    return front.bind(engine.options(num_replicas=replicas).bind(settings), access, settings)


def _free(access: Access) -> int:
    """Return the port to listen at. Raises InputError if it is in use."""
    with listening(access) as listener:
        return int(listener.getsockname()[1])

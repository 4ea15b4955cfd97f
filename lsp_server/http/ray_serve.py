"""Several replicas of the engine behind the same routes, on Ray Serve.

    this process: routes, limits, keys ─▶ the replica that has read the document

`app` builds the replicas from the arguments of a Serve configuration; `serve_ray` serves with them, or with its own.
"""

import asyncio
import itertools
import logging
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import ray
from ray import serve
from ray.exceptions import RayError, RayTaskError
from ray.serve import Application
from ray.serve.config import RequestRouterConfig
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle
from ray.serve.schema import LoggingConfig

from infill_engine.budget.deadline import now
from infill_engine.errors import InputError
from infill_engine.process import without_text, write_no_core_files
from infill_engine.serving.protocol import State, Status
from infill_engine.serving.runtime_files import package_version
from infill_engine.types import Answer, Reason
from lsp_server.engine_client.client import reply_by
from lsp_server.http.access import Access
from lsp_server.http.application import application
from lsp_server.http.completing import Completer, due_of
from lsp_server.http.question import Question, Reply
from lsp_server.http.serving import listening, serve_application
from lsp_server.settings.schema import ServerSettings, read_settings

HOP_SECONDS = 0.01  # reserved for the way to a replica and back
AGAIN_SECONDS = 0.05  # before the next replica is asked
LOADING_SECONDS = 0.1  # between looks at an engine that loads
MOST_ONGOING = 16  # questions of one replica; further ones go to the next, which has to read their documents
NAME = "infill"  # of the application
STORE_BYTES = 128 * 1024 * 1024  # for requests of more than 100 kB on their way to a replica

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # it would report to Ray's makers
    "RAY_worker_niceness": "0",  # Ray's 15 would let everything else on the machine go first
}
QUIET = LoggingConfig(log_level="WARNING", enable_access_log=False)

log = logging.getLogger(__name__)


@serve.deployment(
    max_ongoing_requests=MOST_ONGOING,
    request_router_config=RequestRouterConfig(
        request_router_class="ray.serve.experimental.consistent_hash_router.ConsistentHashRouter"
    ),
)
class EngineReplica:
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


@dataclass(eq=False)
class Replicas:
    """Answers a question with the replica that has the context of its document, or else with another."""

    engine: DeploymentHandle
    settings: ServerSettings
    status: Status  # of the replica that was ready first

    @property
    def model(self) -> str:
        """The name of the model of all replicas."""
        return self.status.model

    async def complete(self, question: Question, arrived: float) -> Reply:
        """Return candidates, or the reason why there are none, by the deadline, which counts from `arrived`.

        A question is asked again if its replica has died or is loading, as long as there is time.
        """
        due = due_of(question, self.settings, arrived)
        try:
            async with reply_by(due):
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
        except (RayError, RayServeException):  # it has died, or there is none
            return None
        except asyncio.CancelledError:
            asked.cancel()
            raise
        return None if reply.answer.reason in (Reason.LOADING, Reason.WORKER_FAILED) else reply


def app(arguments: Mapping[str, Any]) -> Application:
    """Return the application of a Serve configuration. Its argument `settings` has the content of a settings file."""
    return cast(Any, EngineReplica).bind(arguments.get("settings", {}))  # the type is that of Serve's decorator


def serve_ray(access: Access, settings: dict[str, Any], replicas: int, cluster: str) -> None:
    """Serve until a signal ends this process: with the replicas that a cluster has, or with new ones on this machine.

    Raises InputError for an address or a certificate that cannot be used, and for a cluster without replicas.
    """
    listening(access).close()  # whether that is possible
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that Ray is ended, too
    own = {} if cluster else {"num_cpus": replicas, "object_store_memory": STORE_BYTES, "include_dashboard": False}
    ray.init(cluster or "local", logging_level=logging.ERROR, log_to_driver=False, **own)
    try:
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        engine = _deployed() if cluster else _deploy(settings, replicas)
        status: Status = engine.status.remote().result()
        answering = Replicas(engine, read_settings(settings)[0], status)
        serve_application(application(answering, access, package_version()), access)
    finally:
        if not cluster:
            serve.shutdown()
        ray.shutdown()


def _deploy(settings: dict[str, Any], replicas: int) -> DeploymentHandle:
    serve.start("Disabled", logging_config=QUIET)
    engine = cast(Any, EngineReplica).options(num_replicas=replicas)
    return serve.run(engine.bind(settings), name=NAME, route_prefix=None, logging_config=QUIET)


def _deployed() -> DeploymentHandle:
    try:
        return serve.get_app_handle(NAME)
    except RayServeException:
        raise InputError(f"the cluster has no application {NAME!r}; deploy one with `serve run serve.yaml`") from None

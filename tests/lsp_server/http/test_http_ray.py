"""Several replicas on Ray Serve: one dies, the application is replaced, their number changes, and no request is lost.

Ray keeps what it logs under /tmp/ray. The machine's cores decide how long it takes to start, about 20 s on idle ones.
"""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from clients import llama_vim, tabby
from http_server import Server, certified, serving
from next_edit_clients import Edit, zed_zeta2

pytest.importorskip("ray.serve")
yaml = pytest.importorskip("yaml")  # which Ray needs, too

REPOSITORY = Path(__file__).parents[3]
KEY = "a-key-of-somebody"
OLD, NEW = "alpha(1)", "beta(2)"
DOCUMENTS = 24
CLIENTS = 4
PATIENCE_SECONDS = 300
ENGINE = "ray::ServeReplica:infill:EngineReplica"
SECRET = "the_text_of_a_user"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("ray")
    keys = folder / "keys"
    keys.write_text(f"alice {KEY}")
    keys.chmod(0o600)
    encrypted, tls = certified(folder)
    options = ("--api-key-file", str(keys), *encrypted)
    settings = {"budgetMs": 60_000}
    with serving(folder, *options, script=answering(OLD), settings=settings, tls=tls, how="--ray") as server:
        yield server


def answering(text: str) -> dict[str, Any]:
    return {"rules": [{"before": "x = ", "candidates": [text]}]}


def asked(server: Server, document: int = 0) -> str:
    """The text for a place in one of several documents. The server must answer."""
    request = tabby(f"# {SECRET} {time.perf_counter_ns()}\nx = │\n")  # nobody has asked this before
    request["segments"]["filepath"] = f"src/{document}.py"
    answer = server.post("/v1/completions", request, {"Authorization": f"Bearer {KEY}"})
    assert answer.status == 200, answer.body
    return str(answer.json["choices"][0]["text"])


def engines(server: Server) -> set[int]:
    """The process numbers of the replicas."""
    found = set()
    for process in server.process.children(recursive=True):
        try:
            if process.cmdline()[:1] == [ENGINE]:
                found.add(process.pid)
        except psutil.Error:
            continue
    return found


def under_load(server: Server, act: Callable[[], None], until: Callable[[], bool]) -> Counter[str]:
    """Act while several clients ask, and let them go on until something holds. Return how often each answer came."""
    ended = threading.Event()

    def client(_number: int) -> Counter[str]:
        answers: Counter[str] = Counter()
        while not ended.is_set():
            answers[asked(server, answers.total() % DOCUMENTS)] += 1
        return answers

    with ThreadPoolExecutor(CLIENTS) as pool:
        running = [pool.submit(client, number) for number in range(CLIENTS)]
        try:
            act()
            end = time.monotonic() + PATIENCE_SECONDS
            while not until() and not any(each.done() for each in running):
                assert time.monotonic() < end
                time.sleep(0.2)
        finally:
            ended.set()
        return sum((each.result() for each in running), Counter())


def answer_with(server: Server, text: str) -> None:
    (server.log.parent / "script.json").write_text(json.dumps(answering(text)))  # read by replicas that start now


def test_who_is_answered(cluster: Server) -> None:
    assert cluster.get("/health").json == {"status": "ok"}
    assert cluster.post("/infill", llama_vim("x = │\n")).status == 401
    assert cluster.post("/infill", llama_vim("x = │\n"), {"Authorization": f"Bearer {KEY}"}).json["content"] == OLD
    edit = Edit("a.py", "def f(a):\n", "def f(b):\n")
    asked = zed_zeta2("a.py", "⟦def f(b):│\n    return a\n⟧", edit)
    answer = cluster.send("POST", "/v1/completions", asked, {"Authorization": f"Bearer {KEY}"})
    assert answer.json["choices"][0]["text"] == "def f(b):\n    return b\n"
    assert cluster.send("POST", "/infill", b"{", {"Authorization": f"Bearer {KEY}"}).status == 400
    assert len(engines(cluster)) == 2
    assert cluster.url.startswith("https://")
    with pytest.raises((OSError, ValueError)):
        Server(cluster.url, cluster.process, cluster.log).get("/health")  # not encrypted


def test_a_replica_that_dies_loses_no_request_and_documents_keep_theirs(cluster: Server) -> None:
    before = engines(cluster)
    killed = min(before)
    answer_with(cluster, NEW)
    answers = under_load(cluster, psutil.Process(killed).kill, lambda: asked_of_all(cluster) == {OLD, NEW})
    assert set(answers) == {OLD, NEW}  # the replica that took its place answers, too
    assert len(engines(cluster) - before) == 1

    first = [asked(cluster, document) for document in range(DOCUMENTS)]
    again = [[asked(cluster, document) for document in range(DOCUMENTS)] for _ in range(3)]
    assert set(first) == {OLD, NEW}
    assert again == [first] * 3


def asked_of_all(server: Server) -> set[str]:
    return {asked(server, document) for document in range(DOCUMENTS)}


def deploy(server: Server, text: str, **scaling: float) -> None:
    """Deploy the configuration in deploy/, for a machine with two cores and a script that says one text."""
    folder = server.log.parent
    script = folder / f"{text}.json"
    script.write_text(json.dumps(answering(text)))
    content = yaml.safe_load((REPOSITORY / "deploy" / "serve.yaml").read_text())
    (application,) = content["applications"]
    application["args"]["settings"].update(model=f"scripted:{script}", budgetMs=60_000, showThreshold=0)
    (engine,) = application["deployments"]
    engine["ray_actor_options"]["num_cpus"] = 1
    engine["autoscaling_config"].update(max_replicas=2, **scaling)
    path = folder / "serve.yaml"
    path.write_text(yaml.safe_dump(content))
    command = [Path(sys.executable).parent / "serve", "run", "--address", "auto", "--non-blocking", path]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert ran.returncode == 0, ran.stderr


def test_an_update_under_load_loses_no_request(cluster: Server) -> None:
    before = engines(cluster)

    def updated() -> bool:
        """Return whether the new replicas answer and the old ones, which finish their requests first, have ended."""
        return asked_of_all(cluster) == {"newest"} and not engines(cluster) & before

    answers = under_load(cluster, lambda: deploy(cluster, "newest"), updated)
    assert answers["newest"]


def until_none_is_left(server: Server) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while engines(server):
        assert time.monotonic() < end
        time.sleep(0.2)


def test_the_number_of_replicas_follows_the_load_down_to_none(cluster: Server) -> None:
    at_once = {"upscale_delay_s": 0, "downscale_delay_s": 1, "metrics_interval_s": 0.5, "look_back_period_s": 2}
    deploy(cluster, "scaled", min_replicas=0, target_ongoing_requests=1, **at_once)
    until_none_is_left(cluster)
    assert asked(cluster) == "scaled"  # a replica starts for it
    answers = under_load(cluster, lambda: None, lambda: len(engines(cluster)) == 2)
    assert set(answers) == {"scaled"}
    until_none_is_left(cluster)


def test_no_log_has_text(cluster: Server) -> None:
    asked(cluster)
    logs = [path for path in Path("/tmp/ray/session_latest/logs").rglob("*") if path.is_file()]
    assert logs
    assert not [path for path in logs if SECRET.encode() in path.read_bytes()]
    assert SECRET not in cluster.log.read_text()
    assert KEY.encode() not in b"".join(path.read_bytes() for path in logs)

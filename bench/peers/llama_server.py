"""llama.cpp's server as a peer, with a GGUF file of the same model.

It is asked as llama.vim asks it: the lines above are the prefix, the line so far begins the middle, and both sides were
read before the clock starts. So a typed character costs it no more than the product.
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from infill_engine.budget.deadline import now, since
from infill_engine.context.hole import hole_at
from infill_engine.diagnostics.benchmark.left_to_right import distinct
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.diagnostics.benchmark.systems import Answered, Setting
from infill_engine.errors import ModelError
from infill_engine.models.runtime.devices import physical_cores, wanted_threads
from infill_engine.sampling.trunk.token_tree import MOST_DEPTH

COMMAND, VARIABLE = "llama-server", "INFILL_LLAMA_SERVER"
WAY = "llama.cpp"
SLOTS, CONTEXT = 4, 8192  # texts at once, and tokens of all of them together
REUSED = 32  # the least run of tokens that is kept after a change before it
TEMPERATURE = 0.8  # of all texts but the first
OURS = ("OMP_", "MKL_", "OPENBLAS_")  # variables that are set for torch
START_SECONDS, ANSWER_SECONDS, ENDING_SECONDS = 120.0, 60.0, 1.0
LAST_BYTES, LONGEST_MESSAGE = 4096, 200  # of what the server writes


def find_command(named: str | None) -> str | None:
    """Return the path of the server: as named, from the environment, or on the PATH."""
    return shutil.which(named or os.environ.get(VARIABLE) or COMMAND)


@dataclass(slots=True)
class LlamaServer:
    """A server that starts when it is first asked. Raises ModelError if it does not start or answer."""

    command: str
    gguf: Path
    way: str = WAY
    _process: "subprocess.Popen[bytes] | None" = None
    _log: IO[bytes] | None = None
    _port: int = 0
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(SLOTS))

    def answer(self, problem: Problem, setting: Setting) -> Answered:
        """One greedy text, and sampled ones beside it; each until its end, however long that takes."""
        self._start()
        request = problem.request(setting.candidates)
        hole = hole_at(request.prefix, request.suffix, request.language)
        above, line = _cut(request.prefix)
        bodies = [
            {
                "input_prefix": above,
                "input_suffix": request.suffix,
                "prompt": line,
                "n_predict": MOST_DEPTH,
                "temperature": TEMPERATURE if number else 0.0,
                "seed": number,
                "cache_prompt": True,
                "id_slot": number,
                "stop": ["\n"] if hole.max_lines == 1 else [],
            }
            for number in range(min(setting.candidates, SLOTS))
        ]
        list(self._pool.map(self._infill, ({**body, "prompt": "", "n_predict": 0} for body in bodies)))
        began = now()
        said = list(self._pool.map(self._infill, bodies))
        ms = since(began)
        texts = distinct([(str(each["content"]), 0.0) for each in said], request, hole)
        return Answered(tuple(texts), ms)

    def close(self) -> None:
        """End the server."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._log is not None:
            self._log.close()
            self._log = None

    def _start(self) -> None:
        if self._process is None:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self._port = free.getsockname()[1]
            threads = wanted_threads() or physical_cores()
            options = {
                "--model": self.gguf,
                "--port": self._port,
                "--threads": threads,
                "--parallel": SLOTS,
                "--ctx-size": CONTEXT,
                "--cache-reuse": REUSED,
            }
            command = [self.command, *(str(word) for option in options.items() for word in option)]
            own = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
            self._log = tempfile.TemporaryFile("a+b")  # noqa: SIM115  (for as long as the server runs)
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT, env=own
                )
            except OSError as error:
                raise ModelError(f"{self.command} cannot be run: {error.strerror or error}") from error
            self._wait_until_ready()
            for slot in range(SLOTS):  # the first answer of a slot takes longer
                self._infill({"input_prefix": "a = ", "input_suffix": "\n", "n_predict": 4, "id_slot": slot})
        if self._process.poll() is not None:
            raise ModelError(self._ended())

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        until = now() + START_SECONDS
        while now() < until and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/health", timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        if self._process.poll() is not None:
            raise ModelError(self._ended())
        raise ModelError(f"{self.command} did not start with {self.gguf} within {START_SECONDS:.0f} s{self._said()}")

    def _ended(self) -> str:
        assert self._process is not None
        return f"{self.command} has ended with status {self._process.returncode} on {self.gguf}{self._said()}"

    def _said(self) -> str:
        """Return the server's last message, to be put behind what happened."""
        if self._log is None:
            return ""
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - LAST_BYTES))
        lines = [line for line in self._log.read().decode(errors="replace").splitlines() if line.strip()]
        return f"; it said: {lines[-1].strip()[:LONGEST_MESSAGE]}" if lines else "; it said nothing"

    def _infill(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/infill",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(asked, timeout=ANSWER_SECONDS) as answer:
                said = json.load(answer)
        except (OSError, ValueError) as error:
            if isinstance(error, urllib.error.HTTPError):
                detail = error.read().decode(errors="replace")[:200]
            elif self._process is not None and _has_ended(self._process):
                raise ModelError(self._ended()) from error
            else:
                detail = str(error)
            raise ModelError(f"{self.command} does not answer: {detail}") from error
        if not isinstance(said, dict) or "content" not in said:
            raise ModelError(f"{self.command} answers something else than a completion; use llama.cpp's server")
        return said


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Return whether a server that no longer answers has ended, or does so in a moment."""
    try:
        process.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _cut(prefix: str) -> tuple[str, str]:
    """Return the lines above the cursor's, and its line so far."""
    line = prefix.rfind("\n") + 1
    return prefix[:line], prefix[line:]

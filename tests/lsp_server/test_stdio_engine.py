"""The server over stdio while its engine loads, hangs, dies or changes, and while settings arrive."""

import asyncio
import os

import psutil
from capabilities import NEOVIM, VSCODE
from editor import INVOKED, REPOSITORY, SCRIPT, SERVER, WAIT, editor
from lsprotocol import types
from processes import wait_for_end
from pytest_lsp import make_test_lsp_client

from lsp_server.handlers.configuration import PULL_SECONDS


async def test_a_worker_that_hangs_and_one_that_dies() -> None:
    async with editor(VSCODE, SCRIPT, options={"budgetMs": 60_000}) as hung:
        await hung.ready()
        worker = psutil.Process((await hung.status()).workerPid)
        worker.suspend()
        uri = hung.open("x = │")

        cancelled = hung.request(uri, msg_id="to be cancelled")
        await asyncio.sleep(0.05)
        hung.client.cancel_request(types.CancelParams(id="to be cancelled"))
        assert await asyncio.wait_for(cancelled, 30) is None

        overtaken = hung.request(uri)
        await asyncio.sleep(0.05)
        hung.type(uri, "a")
        assert await asyncio.wait_for(overtaken, 30) is None

        closed = hung.request(uri)
        await asyncio.sleep(0.05)
        hung.close(uri)
        assert await asyncio.wait_for(closed, 30) is None

        hung.configure({"budgetMs": 100})
        uri = hung.open("return │", "file:///project/late.py")
        assert await hung.ask(uri) == []
        await hung.until(lambda: hung.statuses[-1].reason == "deadline")

        hung.configure({"budgetMs": 60_000})
        uri = hung.open("ab│", "file:///project/killed.py")
        killed = hung.request(uri)
        await asyncio.sleep(0.1)
        del hung.statuses[:]
        worker.kill()
        assert (await asyncio.wait_for(killed, 30)).items == ()
        await hung.ready()
        assert await hung.ask(uri) == ["c()"]
        assert len([message for message in hung.messages if "stopped unexpectedly" in message]) == 1


async def test_an_engine_that_crashes_on_one_text() -> None:
    async with editor(NEOVIM, {**SCRIPT, "crash_after": "boom"}, options={"budgetMs": 60_000}) as made:
        await made.ready()
        uri = made.open("boom│", language="plaintext")
        del made.statuses[:]
        assert await made.ask(uri) == []
        await made.ready()
        made.close_all()
        assert await made.ask(made.open("x = │", "file:///project/after.py")) == ["alpha(1)", "beta(2)"]


async def test_typing_while_the_model_loads() -> None:
    async with editor(NEOVIM, {**SCRIPT, "load_ms": 700}, options={"budgetMs": 5000}) as early:
        uri = early.open("│")
        for character in "x = ":
            early.type(uri, character)
            assert await early.ask(uri) == []
        assert early.statuses[-1].state == "loading"
        assert early.statuses[-1].reason == "loading"
        await early.ready()
        assert await early.ask(uri) == ["alpha(1)", "beta(2)"]
        (reports,) = early.client.progress_reports.values()
        kinds = [report.kind for report in reports]
        assert (kinds[0], kinds[-1]) == ("begin", "end")


READ = "def load(path):\n    with open(path, encoding='utf-8') as file:\n        return json.load(file)\n\n\n"
READ_AGAIN = READ + READ.removesuffix("file)\n\n\n").replace("load(p", "again(p") + "│\n"


async def test_copies_are_offered_if_the_engine_dies() -> None:
    async with editor(NEOVIM, {**SCRIPT, "crash_after": "json.load("}, options={"budgetMs": 60_000}) as made:
        await made.ready()
        uri = made.open(READ_AGAIN)
        del made.statuses[:]
        assert await made.ask(uri) == ["file)"]
        await made.ready()


async def test_copies_are_offered_while_the_model_loads() -> None:
    async with editor(NEOVIM, {**SCRIPT, "load_ms": 60_000}, options={"budgetMs": 5000}) as early:
        uri = early.open(READ_AGAIN)
        assert await early.ask(uri) == ["file)"]
        assert early.statuses[-1].state == "loading"
        assert early.statuses[-1].reason != "loading"
        assert await early.ask(early.open("x = │", "file:///project/nothing_like_it.py")) == []
        assert early.statuses[-1].reason == "loading"


async def test_copies_are_offered_while_the_engine_does_not_answer() -> None:
    async with editor(NEOVIM, SCRIPT, options={"budgetMs": 500}) as hung:
        await hung.ready()
        psutil.Process((await hung.status()).workerPid).suspend()
        uri = hung.open(READ_AGAIN)
        assert await hung.ask(uri) == []  # that it does not answer is not known before the deadline
        await hung.until(lambda: hung.statuses[-1].reason == "deadline")
        assert await hung.ask(uri) == ["file)"]
        assert await hung.ask(hung.open("x = │", "file:///project/nothing_like_it.py")) == []
        await hung.until(lambda: hung.statuses[-1].reason == "deadline")


async def test_settings_are_pulled_and_off_means_off() -> None:
    async with editor(VSCODE, SCRIPT, configuration={"enable": False}) as off:
        await off.until(lambda: any(status.state == "off" for status in off.statuses))
        assert await off.ask(off.open("x = │"), kind=INVOKED) == []
        assert psutil.Process(off.client._server.pid).children() == []
        # Some answer with the section itself.
        off.client.set_configuration({"infill": {"infill": {"candidates": 1, "budgetMs": 5000}}})
        off.configure(None)
        await off.ready()
        assert off.statuses[-1].model.startswith("scripted:")
        uri = off.open("x = │")
        assert await off.ask(uri) == ["alpha(1)"]
        off.client.set_configuration({"infill": {"candidates": 2, "budgetMs": 5000}})
        off.configure(None)
        async with asyncio.timeout(WAIT):
            while (await off.status()).candidates != 2:
                await asyncio.sleep(0.02)
        assert await off.ask(uri) == ["alpha(1)", "beta(2)"]


async def test_settings_stay_while_a_client_is_slow_to_tell_them() -> None:
    async with editor(VSCODE, SCRIPT, configuration={"enable": False}) as slow:
        await slow.until(lambda: any(status.state == "off" for status in slow.statuses))
        told = asyncio.Event()
        slow.client.protocol.fm.features.pop(types.WORKSPACE_CONFIGURATION)

        @slow.client.feature(types.WORKSPACE_CONFIGURATION)
        async def tell(_params: types.ConfigurationParams) -> list[object]:
            await told.wait()
            return [{"budgetMs": 4711}]

        slow.configure(None)
        await asyncio.sleep(1.5 * PULL_SECONDS)
        assert not (await slow.status()).enabled
        told.set()
        await slow.ready()
        assert (await slow.status()).budgetMs == 4711


async def test_an_engine_does_not_outlive_the_only_server_that_used_it() -> None:
    client = make_test_lsp_client()
    await client.start_io(*SERVER, env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
    options = {"model": "scripted"}
    params = types.InitializeParams(capabilities=types.ClientCapabilities(), initialization_options=options)
    await client.initialize_session(params)
    async with asyncio.timeout(WAIT):
        while (status := await client.protocol.send_request_async("infill/getStatus", {})).state != "ready":
            await asyncio.sleep(0.02)
    worker = psutil.Process(status.workerPid)
    psutil.Process(client._server.pid).kill()
    await asyncio.to_thread(wait_for_end, worker.pid, WAIT)
    await client.stop()

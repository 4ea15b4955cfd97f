"""The report in a real browser: on a desktop and on a phone, light and dark.

INFILL_PICTURES names a folder in which the screenshots are kept.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver.browser import Browser, Page
from made_results import add_answers, empty

from infill_engine.diagnostics.benchmark.report import write_report
from infill_engine.diagnostics.benchmark.verdict import judge

SIZES = {"desktop": (1280, 900), "narrow": (390, 844)}
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = empty()
    results.path = tmp_path_factory.mktemp("report") / "results.jsonl"
    results.header |= {"began": "now", "device": "cpu", "precision": "auto", "network_cut": False}
    results.header["machine"] |= {"memory_gb": 8}
    results.add("doubt", sentence="Other programs use 40% of the processor.")
    results.add("start", ready_ms=1200.0, budget_ms=150)
    for ms in range(20, 120):
        results.add("keystroke", ms=float(ms), typed_through=False)
    for way in ("served", "left to right"):
        for budget_ms in (80.0, 150.0, 300.0):
            add_answers(results, [number % 3 > 0 for number in range(30)], way=way, budget_ms=budget_ms)
    results.missing("quality other 4 in 150 ms 1/2", "it did not fit into 170 seconds")
    return write_report(results, judge(results))


@pytest.fixture(scope="module", params=[(size, scheme) for size in SIZES for scheme in SCHEMES], ids="-".join)
def page(
    request: pytest.FixtureRequest, browser: Browser, report: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Page]:
    """The report at one size in one scheme. No test changes it."""
    size, scheme = request.param
    width, height = SIZES[size]
    opened = browser.page()
    opened.call("setViewportSize", {"width": width, "height": height})
    opened.call("emulateMedia", {"colorScheme": scheme})
    opened.call("goto", report.as_uri())
    pictures = Path(os.environ.get("INFILL_PICTURES") or tmp_path_factory.mktemp("pictures"))
    opened.call("screenshot", {"path": str(pictures / f"report-{size}-{scheme}.png"), "fullPage": True})
    yield opened
    opened.call("close")


def test_all_of_it_is_visible(page: Page) -> None:
    width = page.call("evaluate", "innerWidth")
    assert page.call("evaluate", "document.documentElement.scrollWidth") <= width
    assert page.call("evaluate", "document.querySelectorAll('table').length") == 3
    smallest = "Math.min(...[...document.querySelectorAll('td')].map(each => each.getBoundingClientRect().height))"
    assert page.call("evaluate", smallest) >= 10


def test_words_can_be_read(page: Page) -> None:
    contrast = """(() => {
        const parts = colour => colour.match(/[0-9.]+/g).slice(0, 3).map(Number);
        const light = colour => parts(colour).map(each => each / 255)
            .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
            .reduce((sum, each, number) => sum + each * [0.2126, 0.7152, 0.0722][number], 0);
        const paper = light(getComputedStyle(document.body).backgroundColor);
        const ratio = ink => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        return Math.min(...[...document.querySelectorAll('p, td, th, li, dt, dd')].map(each => {
            const style = getComputedStyle(each);
            return ratio(light(style.color));
        }));
    })()"""
    assert page.call("evaluate", contrast) >= 4.5


def test_nothing_is_fetched(page: Page, report: Path) -> None:
    assert page.call("evaluate", "performance.getEntriesByType('resource').length") == 0
    assert "http" not in report.read_text(encoding="utf-8")


def test_both_schemes_are_drawn(browser: Browser, report: Path) -> None:
    page = browser.page()
    papers = []
    for scheme in SCHEMES:
        page.call("emulateMedia", {"colorScheme": scheme})
        page.call("goto", report.as_uri())
        papers.append(page.call("evaluate", "getComputedStyle(document.body).backgroundColor"))
    assert papers == ["rgb(255, 255, 255)", "rgb(15, 19, 24)"]
    page.call("close")

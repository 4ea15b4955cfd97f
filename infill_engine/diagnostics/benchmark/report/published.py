"""Published latencies of other products, as reference marks beside this machine's. They were not measured here."""

from infill_engine.diagnostics.benchmark.report.section import Table

PUBLISHED = (
    ("GitHub Copilot, a service", "mean below 200 ms", "Cheney, InfoQ, QCon San Francisco 2024"),
    ("JetBrains Full Line Code Completion, local", "about 150 ms", "Semenkin et al., arXiv:2405.08704"),
)


def published_table() -> Table:
    """Return what was published, with its source. Machines, models, problems and definitions differ from these."""
    return Table(("published by others, not measured here", "latency", "source"), PUBLISHED, words=True)

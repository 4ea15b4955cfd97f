"""Reads a household's bank statements, and sums them up by month. The demo takes a piece of it out and fills it in."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TextIO

FIELDS = ("day", "payee", "amount", "category")


@dataclass(frozen=True)
class Entry:
    """One line of a statement. Money that leaves the account is negative."""

    day: date
    payee: str
    amount: Decimal
    category: str = "other"


def read_statement(path: Path) -> Iterator[Entry]:
    """The entries of one CSV file, oldest first as the bank exports them."""
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter=";"):
            day = datetime.strptime(row["Date"], "%d.%m.%Y").date()
            yield Entry(day, row["Payee"].strip(), Decimal(row["Amount"]))


def totals_by_month(entries: Iterable[Entry]) -> dict[str, Decimal]:
    """Month -> sum of the amounts."""
    totals: dict[str, Decimal] = defaultdict(Decimal)
    for entry in entries:
        totals[entry.day.strftime("%Y-%m")] += entry.amount
    return totals


def write_entries(entries: Iterable[Entry], stream: TextIO) -> None:
    """The entries as CSV, one column for each of FIELDS."""
    writer = csv.writer(stream)
    writer.writerow(FIELDS)
    for entry in entries:
        writer.writerow((entry.day.isoformat(), entry.payee, entry.amount, entry.category))


def write_totals(entries: Iterable[Entry], stream: TextIO) -> None:
    """One line for each month."""
    for month, total in sorted(totals_by_month(entries).items()):
        stream.write(f"{month} {total:>12,.2f}\n")

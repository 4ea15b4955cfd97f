"""Sums up a household's bank statements by month and category. The demo takes a piece of it out and fills it in."""

import csv
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TextIO

CATEGORIES = {
    "rent": ("rent", "landlord"),
    "food": ("market", "bakery", "grocer"),
    "travel": ("rail", "fuel", "parking"),
}
FIELDS = ("day", "payee", "amount", "category")


@dataclass(frozen=True)
class Entry:
    """One line of a statement. Money that leaves the account is negative."""

    day: date
    payee: str
    amount: Decimal
    category: str = "other"

    @property
    def month(self) -> str:
        return self.day.strftime("%Y-%m")


def categorise(payee: str) -> str:
    """The first category that one of its words puts the payee into."""
    words = payee.casefold().split()
    for category, names in CATEGORIES.items():
        if any(name in words for name in names):
            return category
    return "other"


def parse_amount(text: str) -> Decimal:
    """An amount as banks write it: "1.234,50" or "1234.50"."""
    if "," in text:
        text = text.replace(".", "").replace(",", ".")
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"not an amount: {text!r}") from None


def read_statement(path: Path) -> Iterator[Entry]:
    """The entries of one CSV file, oldest first as the bank exports them."""
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter=";"):
            day = datetime.strptime(row["Date"], "%d.%m.%Y").date()
            payee = row["Payee"].strip()
            amount = parse_amount(row["Amount"])
            yield Entry(day, payee, amount, categorise(payee))


def totals_by_month(entries: Iterable[Entry]) -> dict[str, dict[str, Decimal]]:
    """Month -> category -> sum of the amounts."""
    totals: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for entry in entries:
        totals[entry.month][entry.category] += entry.amount
    return totals


def write_entries(entries: Iterable[Entry], stream: TextIO) -> None:
    """The entries as CSV, one column for each of FIELDS."""
    writer = csv.writer(stream)
    writer.writerow(FIELDS)
    for entry in entries:
        writer.writerow((entry.day.isoformat(), entry.payee, entry.amount, entry.category))


def write_report(entries: Iterable[Entry], stream: TextIO) -> None:
    """One paragraph for each month, its largest expenses first."""
    for month, categories in sorted(totals_by_month(entries).items()):
        stream.write(f"{month}\n")
        for category, total in sorted(categories.items(), key=lambda item: item[1]):
            stream.write(f"  {category:<10}{total:>12,.2f}\n")


def main() -> None:
    entries = [entry for name in sys.argv[1:] for entry in read_statement(Path(name))]
    entries.sort(key=lambda entry: entry.day)
    write_report(entries, sys.stdout)


if __name__ == "__main__":
    main()

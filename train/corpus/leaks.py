"""Checks whether held-out text is in the training corpus under another name.

    python -m train.corpus.leaks --corpus training/corpus/corpus.jsonl --heldout training/heldout

Paths exclude held-out packages (`corpus.build`), but not copies of their files or benchmark problems pasted into tests.
This module compares the text itself. It runs when a corpus is built and, as a command, on an existing corpus: it prints
what it finds and fails if there is anything.
"""

import argparse
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

COPIED = 0.3  # share of distinctive lines found in held-out text; from this on, a file counts as a copy
LEAST_LINES = 8  # with fewer distinctive lines, a file may share them by chance
TELLING_CHARS = 24  # a shorter line is not distinctive
BENCHMARK_NAMES = 2  # distinct names in a file; one alone may be chance

# Functions that HumanEval asks for (github.com/openai/human-eval), without names that are also used elsewhere.
HUMANEVAL = frozenset(
    """
    has_close_elements separate_paren_groups truncate_number mean_absolute_deviation parse_nested_parens
    filter_by_substring rolling_max string_xor parse_music how_many_times find_closest_elements rescale_to_unit
    sort_third encode_cyclic prime_fib triples_sum_to_zero car_race_collision pairs_sum_to_zero fib4 encode_shift
    correct_bracketing fibfib vowels_count digitSum fruit_distribution strange_sort_list will_it_fly is_multiply_prime
    is_simple_power numerical_letter_grade starts_one_ends anti_shuffle skjkasdkd check_dict_case make_a_pile
    even_odd_palindrome move_one_ball minSubArraySum get_closest_vowel get_odd_collatz is_equal_to_sum_even
    check_if_last_char_is_a_letter special_factorial count_nums unique_digits prod_signs minPath select_words
    """.split()
)
_SHARED = ("import ", "from ", "use ", "using ", "package ", "#", "//", "/*", "*", "--")  # imports and licence headers
_DEFINED = re.compile(r"\bdef (\w+)")
_MBPP = re.compile(r"(?i)\bwrite a (?:python )?function to\b")  # nearly all its problems begin like this


class HeldOut:
    """The distinctive lines of held-out packages."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._lines = {line for text in texts for line in _telling(text)}

    def __bool__(self) -> bool:
        return bool(self._lines)

    @classmethod
    def read(cls, folder: Path) -> "HeldOut":
        """Read the wheels in `folder`; without wheels the result is empty."""
        return cls(text for wheel in sorted(folder.glob("*.whl")) for text in _python_in(wheel))

    def objection(self, text: str) -> str | None:
        """Return why a text must not be trained on, or None."""
        lines = _telling(text)
        if len(lines) >= LEAST_LINES and len(lines & self._lines) >= COPIED * len(lines):
            return "a copy of a held-out file"
        if len(HUMANEVAL.intersection(_DEFINED.findall(text))) >= BENCHMARK_NAMES:
            return "problems of HumanEval"
        if len(_MBPP.findall(text)) >= BENCHMARK_NAMES:
            return "problems of MBPP"
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description="Looks for held-out text in a corpus.")
    parser.add_argument("--corpus", type=Path, default=Path("training/corpus/corpus.jsonl"))
    parser.add_argument("--heldout", type=Path, default=Path("training/heldout"), help="wheels of held-out packages")
    options = parser.parse_args()
    held_out = HeldOut.read(options.heldout)
    found = 0
    with options.corpus.open(encoding="utf-8") as corpus:
        for line in corpus:
            file = json.loads(line)
            objection = held_out.objection(file["text"])
            if objection:
                found += 1
                print(f"{file['package']} {file['path']}: {objection}")
    sys.exit(f"{found} files must not be trained on" if found else 0)


def _telling(text: str) -> set[str]:
    lines = (line.strip() for line in text.splitlines())
    return {line for line in lines if len(line) >= TELLING_CHARS and not line.startswith(_SHARED)}


def _python_in(wheel: Path) -> Iterator[str]:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".py"):
                yield archive.read(name).decode("utf-8", "replace")


if __name__ == "__main__":
    main()

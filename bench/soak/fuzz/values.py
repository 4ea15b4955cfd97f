"""Random values, and changes of values and bytes."""

import random
from typing import Any

CHARACTERS = "ab(\"'_=:.,0 \r\n\t\x0b\x0c\x1c\x85\u2028é→\u0301\u200d日😀𝒳\ud83d\udc00\x00"
NUMBERS = (0, 1, -1, 2, 7, 255, 2**15, 2**31 - 1, 2**31, 2**53, 2**63, -(2**63), 2**64, 10**30)
FLOATS = (0.0, -0.5, 1.5, 1e308, float("inf"), float("nan"))
DEPTH = 3


def text(rng: random.Random, longest: int = 12) -> str:
    """Return a short text of odd characters, halves of surrogate pairs among them."""
    return "".join(rng.choice(CHARACTERS) for _ in range(rng.randint(0, longest)))


def value(rng: random.Random, depth: int = DEPTH) -> Any:
    """Return a value that JSON and msgpack can write, if they can write it."""
    kind = rng.randrange(9 if depth else 6)
    if kind == 0:
        return None
    if kind == 1:
        return rng.random() < 0.5
    if kind == 2:
        return rng.choice(NUMBERS)
    if kind == 3:
        return rng.choice(FLOATS)
    if kind == 4:
        return text(rng)
    if kind == 5:
        return "a" * rng.choice((0, 1, 100, 20_000))
    if kind < 8:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, 4))]
    return {text(rng, 4): value(rng, depth - 1) for _ in range(rng.randint(0, 4))}


def changed(whole: Any, rng: random.Random) -> Any:
    """Return a value with one part replaced, removed, doubled or swapped. The argument stays as it is."""
    if isinstance(whole, dict) and whole and rng.random() < 0.9:
        key = rng.choice(list(whole))
        copy = dict(whole)
        how = rng.random()
        if how < 0.7:
            copy[key] = changed(copy[key], rng)
        elif how < 0.85:
            del copy[key]
        else:
            copy[text(rng, 6)] = value(rng, 1)
        return copy
    if isinstance(whole, list) and whole and rng.random() < 0.8:
        items = list(whole)
        at = rng.randrange(len(items))
        how = rng.random()
        if how < 0.6:
            items[at] = changed(items[at], rng)
        elif how < 0.8:
            del items[at]
        else:
            items += [items[at]] * rng.randint(1, 3)
        return items
    return value(rng)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return bytes that are cut, changed, doubled or interspersed somewhere."""
    copy = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        how, at = rng.randrange(5), rng.randint(0, len(copy))
        if how == 0:
            del copy[at:]
        elif how == 1:
            del copy[:at]
        elif how == 2 and at < len(copy):
            copy[at] = rng.randrange(256)
        elif how == 3:
            copy[at:at] = rng.randbytes(rng.randint(1, 8))
        else:
            copy[at:at] = copy[max(0, at - rng.randint(1, 16)) : at]
    return bytes(copy)

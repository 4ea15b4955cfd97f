"""Engines that several test files load, and jobs that end at once."""

from pathlib import Path
from typing import TypeVar

from local_engine import engine_of

from infill_engine import Deadline, Engine, load_engine
from infill_engine.budget.work import Job, OutOfTime
from infill_engine.models.base import Context
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.settings import ModelSettings

T = TypeVar("T")


def soon() -> Deadline:
    return Deadline.after_ms(60_000)


def never_read(*_arguments: object) -> Job[Context]:
    yield from ()
    raise OutOfTime


def returning(result: T) -> Job[T]:
    yield from ()
    return result


def exact_engine(folder: Path) -> Engine:
    """In float32: in bfloat16 a matrix product rounds differently for one row than for many."""
    return engine_of(load_canvas_model(str(folder), "cpu", ModelSettings(dtype="fp32")))


_engines: dict[Path, Engine] = {}


def real_engine(folder: Path) -> Engine:
    if folder not in _engines:
        _engines[folder] = load_engine(str(folder))
    return _engines[folder]

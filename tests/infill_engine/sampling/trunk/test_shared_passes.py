"""How texts share passes: rows side by side, short rows and slots, texts that give up."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[2] / "models" / "trunk")]

from patching_trunk import patching_model

from infill_engine.budget.work import Work, finished
from infill_engine.models.trunk.prompt import Prompt
from infill_engine.sampling.trunk.shared_passes import NoRoom, Wanted, run_together


def writing(read, sizes, *, gives_back=True):
    """Reads so many tokens each time. Returns how often it could."""
    slots, done = [], 0
    try:
        for size in sizes:
            found = yield Wanted(slots, [7] * size)
            assert len(found) == size
            slots, done = [*slots, *(one.slot for one in found)], done + 1
    except NoRoom:
        pass
    if gives_back:
        read.continuations.give_back(slots)
    return done


def run(folder, *all_sizes, most_rows=64, free=None):
    model = patching_model(folder)
    read = finished(model.read_separately(Prompt((1, 2, 3), (), (4,)), part=8))
    read.after_prompt()
    if free is not None:
        read.continuations.take(read.free_slots - free)
    before = read.free_slots
    passes, job = [], run_together(model, read, [writing(read, sizes) for sizes in all_sizes], most_rows)
    while True:
        try:
            event = next(job)
        except StopIteration as end:
            assert read.free_slots == before
            return end.value, passes
        assert isinstance(event, Work)
        passes.append(event.size)


def test_what_is_wanted_at_the_same_time_is_read_in_one_pass(tmp_path):
    assert run(tmp_path, [2, 1], [3, 1, 1], [1]) == ([2, 3, 1], [6, 2, 1])


def test_the_first_texts_come_first_where_rows_are_short(tmp_path):
    assert run(tmp_path, [3, 3], [3], [1], most_rows=4) == ([2, 1, 1], [4, 3, 3])
    assert run(tmp_path, [9], [1], most_rows=4) == ([1, 1], [9, 1])


def test_a_text_waits_for_slots_that_others_give_back(tmp_path):
    assert run(tmp_path, [4, 2], [2, 4], free=8) == ([2, 2], [6, 2, 4])


def test_the_last_text_gives_up_if_all_wait(tmp_path):
    assert run(tmp_path, [4, 2, 2], [4, 2], free=8) == ([3, 1], [8, 2, 2])


def test_nothing_to_write(tmp_path):
    assert run(tmp_path) == ([], [])

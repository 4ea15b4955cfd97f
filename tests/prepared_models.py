"""Where this machine keeps prepared models. Preparing the default model takes long, so tests prepare it there, once."""

from pathlib import Path

from infill_engine.models.checkpoint.user_data import prepared_folder

PREPARED = prepared_folder()  # before a test sets another folder


def share_prepared(place: Path) -> None:
    """Make `place` a link to that folder."""
    PREPARED.mkdir(parents=True, exist_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(PREPARED, target_is_directory=True)

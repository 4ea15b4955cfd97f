"""Where the user's own data is stored: settings, statistics, and the trunk if it was built on this machine."""

import os
from pathlib import Path

STATE_DIR = "INFILL_STATE_DIR"  # the environment variable that overrides the folder
SETTINGS = "settings.json"


def state_folder() -> Path:
    """Return the folder; it may not exist yet."""
    folder = os.environ.get(STATE_DIR)
    if folder:
        return Path(folder).expanduser().absolute()
    from platformdirs import user_state_dir

    return Path(user_state_dir("infill-ls", appauthor=False))


def trunk_folder() -> Path:
    """Return where `infill-ls models get` builds the trunk."""
    return state_folder() / "models" / "trunk"


def prepared_folder() -> Path:
    """Return where models are kept in the form in which this machine computes them; it may be deleted at any time."""
    if os.environ.get(STATE_DIR):
        return state_folder() / "prepared"
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("infill-ls", appauthor=False)) / "prepared"


def settings_file() -> Path:
    """Return the user's settings for all editors, as `infill-ls bench --apply` writes them; it may not exist."""
    if os.environ.get(STATE_DIR):
        return state_folder() / SETTINGS
    from platformdirs import user_config_dir

    return Path(user_config_dir("infill-ls", appauthor=False)) / SETTINGS

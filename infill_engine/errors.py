"""The error tree. An error that a user can cause is an `InfillError`, and its text says what to do.

InfillError
├── InputError              a file, position or option that does not exist or cannot be read
├── ModelError              a model that cannot be used
│   ├── ModelNotFoundError      no such model or folder
│   ├── ModelDamagedError       present, but its files do not fit together
│   └── ModelTooLargeError      intact, but larger than the free memory
├── EngineError             the engine's process could not start, or died
└── TrainingError           training cannot continue
"""


class InfillError(Exception):
    """An error that a user can cause and fix; the message says how."""


class InputError(InfillError):
    """A file, position or option that does not exist or cannot be read."""


class ModelError(InfillError):
    """A model that cannot be used."""


class ModelNotFoundError(ModelError):
    """No model has that name, and there is no folder at that path."""


class ModelDamagedError(ModelError):
    """The model's files are missing, truncated or do not fit together."""


class ModelTooLargeError(ModelError):
    """The model needs more memory than is available."""


class EngineError(InfillError):
    """The engine's process could not start, or died while it was needed."""


class TrainingError(InfillError):
    """Training cannot continue; the checkpoint is unchanged."""

"""The error tree. What a user can cause is an `InfillError`, and its text says what to do.

InfillError
├── InputError              a file, position or option that does not exist or cannot be read
├── ModelError              a model that cannot be used
│   ├── ModelNotFoundError      no such model or folder
│   ├── ModelDamagedError       present, but its files do not fit together
│   └── ModelTooLargeError      sound, but larger than the memory that is free
├── WorkerError             the worker process could not start, or died
└── TrainingError           a training that cannot go on
"""


class InfillError(Exception):
    """Something a user can cause and can mend; the message carries the remedy."""


class InputError(InfillError):
    """A file, position or option that does not exist or cannot be read."""


class ModelError(InfillError):
    """A model that cannot be used."""


class ModelNotFoundError(ModelError):
    """No model of that name, and no folder at that path."""


class ModelDamagedError(ModelError):
    """The model's files are missing, truncated or do not fit together."""


class ModelTooLargeError(ModelError):
    """The model needs more memory than there is."""


class WorkerError(InfillError):
    """The worker process could not start, or died while it was needed."""


class TrainingError(InfillError):
    """Training cannot go on; the checkpoint is what it was."""

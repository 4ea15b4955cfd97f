"""How much text around a hole the engine reads, and how it runs a model. Frozen; change with `dataclasses.replace`."""

from dataclasses import dataclass

from infill_engine.errors import InputError

AUTO = "auto"  # a device or precision that is chosen for this machine
STORED = ("int8", "int4")
DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
DTYPES |= {name: name for name in DTYPES.values()}
CHARACTERS = 13  # in four tokens of code, approximately
TEMPERATURE = 0.7  # of texts that are sampled


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How much text around the cursor a request carries, in characters.

    `wants_project`: whether the engine also wants the text of the project's other files, sent separately from requests.
    """

    prefix_chars: int = 1100
    suffix_chars: int = 450
    wants_project: bool = False


USUAL_WINDOW = WindowSettings()


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How a published model is run; the default model uses only `dtype`."""

    dtype: str = AUTO  # or a name in DTYPES, int8, int4
    prefix_tokens: int = 768
    suffix_tokens: int = 384

    @property
    def stored(self) -> str:
        """How matrices are stored in memory: `int8`, `int4`, or "" for the precision of the computation."""
        return self.dtype if self.dtype in STORED else ""

    def float_type(self) -> str:
        """Return the chosen floating-point type, named as in torch and MLX; "" leaves the choice to the loader.

        Raises InputError for an unknown precision.
        """
        if self.dtype == AUTO or self.stored:
            return ""
        if self.dtype not in DTYPES:
            known = ", ".join(name for name in (*DTYPES, *STORED) if "float" not in name)
            raise InputError(f"precision `{self.dtype}` is not known; use `{AUTO}` or one of: {known}")
        return DTYPES[self.dtype]

    @property
    def window(self) -> WindowSettings:
        """The window in characters that corresponds to the token limits."""
        return WindowSettings(self.prefix_tokens * CHARACTERS // 4, self.suffix_tokens * CHARACTERS // 4)

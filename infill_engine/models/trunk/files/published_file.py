"""The published file that the trunk is made from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A published GGUF file, known by its checksum."""

    repository: str
    file: str
    size: int
    sha256: str

    @property
    def address(self) -> str:
        """The page where a user can download it."""
        return f"https://huggingface.co/{self.repository}"


PUBLISHED = PublishedFile(
    "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    491_400_064,
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
)
SHARDS_BYTES = 260_000_000  # of the files that are made from it

"""Who may use the server: from which addresses, with which keys, encrypted or not."""

import hmac
import stat
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from infill_engine.engine.remote.address import is_this_machine
from infill_engine.errors import InputError

LEAST_KEY_CHARS = 16


@dataclass(frozen=True, slots=True)
class Access:
    """Where to listen. Without `keys`, everybody who reaches the address may ask."""

    host: str
    port: int
    keys: tuple[bytes, ...] = ()  # digests
    certificate: Path | None = None
    private_key: Path | None = None

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine reach the address."""
        return is_this_machine(self.host)

    def url(self, port: int) -> str:
        """Return the address of the server that listens at this port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.certificate is None else 'https'}://{host}:{port}"

    def allows(self, authorization: str) -> bool:
        """Return whether the value of the header `Authorization` has a key. Takes equally long for all wrong keys."""
        scheme, _, key = authorization.partition(" ")
        digest = _digest(key.strip())
        known = [hmac.compare_digest(digest, each) for each in self.keys]
        return not self.keys or (scheme.lower() == "bearer" and any(known))


def checked_access(
    host: str, port: int, key_file: Path | None, certificate: Path | None, private_key: Path | None, *, plain: bool
) -> Access:
    """Return the access that these options ask for. `plain`: the user wants no encryption beyond this machine.

    Raises InputError if others could read or use the server without the user having said so.
    """
    access = Access(host, port, _read_keys(key_file) if key_file is not None else (), certificate, private_key)
    if (certificate is None) != (private_key is None):
        raise InputError("--tls-certificate and --tls-key belong together; give both")
    for file in filter(None, (certificate, private_key)):
        if not file.is_file():
            raise InputError(f"{file} does not exist; give the path of a PEM file")
    if access.is_local:
        return access
    if not access.keys:
        raise InputError(f"other machines reach {host}; give --api-key-file with the keys that may be used")
    if certificate is None and not plain:
        raise InputError(
            f"other machines reach {host}, and code would be sent there unencrypted; give --tls-certificate and "
            "--tls-key, or --plain-http if a proxy encrypts the connection"
        )
    return access


def _read_keys(path: Path) -> tuple[bytes, ...]:
    """Return the digests of the keys in a file: one a line, after a name if there is one. `#` begins a comment."""
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise InputError(f"{path} can be read by other users; run: chmod 600 {path}")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as fault:
        raise InputError(f"{path} cannot be read; give a text file with one key per line") from fault
    keys = [line.split()[-1] for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not keys or min(map(len, keys)) < LEAST_KEY_CHARS:
        raise InputError(f"{path} must have one key per line, each of at least {LEAST_KEY_CHARS} characters")
    return tuple(map(_digest, keys))


def _digest(key: str) -> bytes:
    return sha256(key.encode(errors="replace")).digest()

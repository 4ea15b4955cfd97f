"""Server faults, in words that say what to do. The server's own messages are never quoted: they may repeat the text
that was sent."""

import http.client
import socket
import ssl

from infill_engine.engine.remote.address import Address, Api

KINDS = {Api.OPENAI: "an OpenAI-compatible server", Api.LLAMA: "a llama.cpp server"}


class MalformedAnswerError(Exception):
    """The server's answer is not valid for its API."""


class RefusedError(Exception):
    """The server answered with a status other than 200; `retry_after` is its Retry-After header."""

    def __init__(self, status: int, retry_after: str = "") -> None:
        super().__init__(status)
        self.status = status
        self.retry_after = retry_after


def described(fault: Exception, address: Address, key_variable: str) -> str:
    """Return a sentence that describes a fault."""
    place = address.place
    match fault:
        case RefusedError():
            return f"{place} {_refusal(fault.status, address, key_variable)}"
        case MalformedAnswerError() | http.client.HTTPException():
            return (
                f"the answer from {place} is not one of {KINDS[address.api]}. Check the address; its path is now "
                f"{address.path or '/'}."
            )
        case ssl.SSLCertVerificationError():
            return (
                f"the certificate of {place} is not trusted here. If it is your own, put it into a file and name that "
                "in the environment variable SSL_CERT_FILE."
            )
        case ConnectionRefusedError():
            return f"nothing answers at {place}. Start the server there, or choose another model."
        case socket.gaierror():
            return f"the host {address.host} is not known here. Check its name and the network."
        case TimeoutError():
            return f"{place} did not answer in time. Check the address and the network."
        case _:
            return f"the connection to {place} failed ({type(fault).__name__}). Check the server and the network."


def _refusal(status: int, address: Address, key_variable: str) -> str:
    """Return the rest of a sentence that begins with the server's name."""
    match status:
        case 401 | 403:
            return (
                f"does not accept the key ({status}). Put a valid one into the environment variable {key_variable} and "
                "start the editor from there."
            )
        case 404 if address.api is Api.OPENAI:
            return (
                f"has no model `{address.model}`, or no {address.path}/completions (404). `infill-ls doctor` with the "
                "same --model lists the models it has."
            )
        case 404 | 501:
            return (
                f"cannot fill in ({status}): run llama-server there, with a model that was trained to fill in, or ask "
                "it as openai:URL#MODEL."
            )
        case 400 | 422 if address.fim is None and address.api is Api.OPENAI:
            return (
                f"refuses the request ({status}): it takes no suffix, and the model's name does not tell its family. "
                f"Add the family to the name, such as #{address.model}?fim=qwen2.5-coder."
            )
        case 429:
            return "has had too many requests (429). Raise its limit, or ask for fewer candidates."
        case _ if 300 <= status < 400:
            return f"points to another address ({status}). Name that one as the model."
        case _:
            return f"answered with the error {status}. Look at that server's log."

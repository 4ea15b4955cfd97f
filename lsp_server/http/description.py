"""The OpenAPI description of the server, from the types that requests are read with."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from lsp_server.http.protocols.exchange import Exchange


def openapi(
    exchanges: Mapping[str, Iterable[Exchange[Any]]], events: Mapping[str, type], others: Iterable[str], version: str
) -> dict[str, Any]:
    """Return the description, by path: of POST requests, of those that need no answer, and of GET requests."""
    types = [each for group in exchanges.values() for exchange in group for each in (exchange.asked, exchange.answered)]
    types += events.values()
    (*schemas,), components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schema = iter(schemas)
    paths: dict[str, Any] = {path: {"get": {"responses": {"200": {"description": "OK"}}}} for path in others}
    for path, group in exchanges.items():
        pairs = [(exchange.summary, next(schema), next(schema)) for exchange in group]
        paths[path] = {
            "post": {
                "summary": " or ".join(summary for summary, _, _ in pairs),
                "requestBody": {"required": True, "content": _json([asked for _, asked, _ in pairs])},
                "responses": {"200": {"description": "OK", "content": _json([answered for _, _, answered in pairs])}},
            }
        }
    for path, event in zip(events, schema, strict=True):
        done = {"responses": {"200": {"description": "OK"}}}
        paths[path] = {"post": {"summary": "Count an event", "requestBody": {"content": _json([event])}, **done}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "infill-ls", "version": version},
        "paths": paths,
        "components": {"schemas": components},
    }


def _json(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    return {"application/json": {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}}

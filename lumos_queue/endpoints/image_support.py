"""Ask a chat server whether its model takes images, by one request with a small image."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import Mapping

import orjson

from lumos_queue.endpoints.base import EndpointSettings, ImagePart
from lumos_queue.endpoints.context_length import ContextFull
from lumos_queue.endpoints.failed_try import TryFailed
from lumos_queue.endpoints.http import Http, Malformed, RequestRefused
from lumos_queue.endpoints.urls import base_urls, model_name
from lumos_queue.endpoints.vision import data_url, with_image_urls
from lumos_queue.records import JsonObject

SECONDS = 60.0  #: time limit of the request
SIDE = 64  #: pixels: some models refuse smaller images
_NO_CAPACITY = (429, 503, 504)  #: the server is loading its model, or busy


async def takes_images(url: str, settings: EndpointSettings) -> bool | None:
    """Return whether the first replica of a checked `chat://` address answers a request with an image.

    Return None if the server does not answer, or has no capacity now. A server that ignores images counts as one that
    takes them. The request has no retries, and its reply is not recorded.
    """
    server = Http(base_urls(url)[0], settings)
    messages = [{"role": "user", "content": "1 + 1 ="}]
    body = {
        "model": model_name(url),
        "messages": with_image_urls(messages, [data_url(ImagePart(_white_png(), "image/png"))]),
        "max_tokens": 1,
        "temperature": 0.0,
    }
    try:
        async with asyncio.timeout(SECONDS):
            await server.post("/v1/chat/completions", orjson.dumps(body), _check_reply)
    except RequestRefused as error:
        return None if error.status in (401, 403) else False
    except TryFailed as error:
        return False if error.status and error.status not in _NO_CAPACITY else None
    except ContextFull:
        return True
    except TimeoutError:
        return None
    finally:
        await server.close()
    return True


def _check_reply(reply: JsonObject, _headers: Mapping[str, str]) -> None:
    """Raise Malformed for a reply without a choice, such as an error that is sent with a status of 200."""
    if not reply.get("choices"):
        raise Malformed("no 'choices'")


def _white_png() -> bytes:
    """Return a white image of SIDE x SIDE pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\xff" * (3 * SIDE)) * SIDE)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")

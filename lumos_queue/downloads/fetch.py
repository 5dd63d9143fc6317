"""Download a file over HTTP; a file that is incomplete or has another checksum is deleted."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import httpx2

from lumos_queue.downloads.catalogue import PublicFile
from lumos_queue.errors import SpecError
from lumos_queue.util.wording import format_bytes

_SECONDS = httpx2.Timeout(60.0, connect=20.0)
_CHUNK = 1 << 20  # bytes


def download(file: PublicFile, target: Path, sha256: str = "") -> str:
    """Download the file to `target`, which must not exist, and return the sha256 of its bytes.

    The bytes are compared with `sha256` and `file.size`, if these are known, before `target` is created. After a
    failure the partial file is deleted. Raises SpecError if the file cannot be downloaded or differs; the message
    explains the download by hand. Raises OSError if the disk fails.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    number, part = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(number, "wb") as stream:
            digest = _read(file, target, stream)
            stream.flush()
            os.fsync(stream.fileno())
        if sha256 and digest != sha256:
            raise SpecError(
                f"'{file.name}' from {file.url} has the sha256 {digest}, expected {sha256}: nothing was kept. "
                f"{_by_hand(target)}"
            )
        os.chmod(part, 0o644)  # mkstemp made it for its owner alone
        os.replace(part, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(part)
    return digest


def _read(file: PublicFile, target: Path, stream: BinaryIO) -> str:
    """Write the body of the response to `stream` and return its sha256."""
    limit = file.size or file.max_bytes
    hasher, size = hashlib.sha256(), 0
    try:
        with (
            httpx2.Client(
                follow_redirects=True,
                max_redirects=5,
                timeout=_SECONDS,
                event_hooks={"request": [_no_step_down(file.url)]},
            ) as client,
            client.stream("GET", file.url, headers={"accept-encoding": "identity"}) as response,
        ):
            response.raise_for_status()
            for chunk in response.iter_bytes(_CHUNK):
                size += len(chunk)
                if size > limit:
                    raise _unavailable(file, target, f"it has more than {format_bytes(limit)}")
                hasher.update(chunk)
                stream.write(chunk)
    except httpx2.HTTPStatusError as error:
        raise _unavailable(file, target, f"the server answers {error.response.status_code}") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _unavailable(file, target, str(error) or type(error).__name__) from None
    if file.size and size != file.size:
        raise _unavailable(file, target, f"{size:,} bytes came, expected {file.size:,}")
    return hasher.hexdigest()


def _no_step_down(url: str) -> Callable[[httpx2.Request], None]:
    """Return a hook that refuses redirects from https to http, and to any protocol except these two."""
    schemes = ("https",) if url.startswith("https:") else ("http", "https")

    def check(request: httpx2.Request) -> None:
        if request.url.scheme not in schemes:
            raise httpx2.UnsupportedProtocol(f"it redirects to {request.url.scheme}://{request.url.host}")

    return check


def _unavailable(file: PublicFile, target: Path, problem: str) -> SpecError:
    return SpecError(f"Cannot get '{file.name}' from {file.url}: {problem}. Nothing was kept. {_by_hand(target)}")


def _by_hand(target: Path) -> str:
    return f"By hand: download it elsewhere and put it at '{target}'."

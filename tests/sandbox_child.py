"""The child of a sandbox in tests. It imports little, because many tests start it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from lumos_queue.util import sandbox
from lumos_queue.util.sandbox import serve

_HELD = []


def main() -> None:
    """What the child does."""
    serve(_handle)


def _handle(request: dict) -> dict:
    match request["do"]:
        case "spin":
            while True:
                pass
        case "sleep":
            time.sleep(request["seconds"])
        case "hold":
            _HELD.append(bytearray(request["bytes"]))
        case "exit":
            os._exit(3)
        case "long reply":
            return {"text": "x" * (sandbox.MAX_REPLY + 1)}
        case "print":
            print("not a reply", flush=True)
            os.system("echo not a reply either")
        case "write":
            try:
                Path(request["path"]).write_text("x")
            except OSError as error:
                return {"refused": type(error).__name__}
    return {"pid": os.getpid(), "environment": sorted(os.environ), "folder": os.getcwd()}

"""Serve a model by `transformers serve` on this machine, or return the command that serves it on a GPU."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from lumos_queue.endpoints.model_folder import check_folder
from lumos_queue.errors import SpecError, unknown
from lumos_queue.models.adapters import is_adapter
from lumos_queue.models.folders import models_folder, require_libraries
from lumos_queue.models.merge import ensure_merged_folder
from lumos_queue.util.addresses import Origin
from lumos_queue.util.launch_folder import child_environment, empty_folder, from_launch
from lumos_queue.util.wording import format_limit

SERVERS = ("tgi", "vllm")  #: servers whose commands can be printed
START_SECONDS = 300.0  #: limit for loading the model
END_SECONDS = 5.0  #: limit for ending after a signal
#: The limits of the cache: by default it takes most of the free memory.
_CACHE = ("--cb-num-blocks", "512", "--cb-block-size", "32", "--cb-max-batch-tokens", "2048")
#: The program of the child process, which ends with this process, even if this process is killed.
_START = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from lumos_queue.util.process import die_with_parent
die_with_parent(int(sys.argv.pop(1)))
from transformers.cli.transformers import main
main()
"""
_ROOT = Path(__file__).resolve().parents[2]


def find_model(name: str) -> Path:
    """Return the folder of a model. `name` is its name in LUMOS_HOME or its path; an adapter is merged first.

    Raises SpecError if there is no such model.
    """
    plain = Path(name).name == name
    folder = models_folder() / name
    if not (plain and folder.is_dir()):
        folder = from_launch(Path(name).expanduser())
    if not folder.is_dir():
        raise SpecError(
            f"No model '{name[:200]}': expected a model folder, an adapter folder, or a name in '{models_folder()}'."
        )
    if is_adapter(folder):
        return ensure_merged_folder(folder).absolute()
    check_folder(folder)
    return folder.absolute()


def command_for(server: str, folder: Path, host: str, port: int) -> tuple[str, str]:
    """Return the command that starts a GPU server, and its endpoint URL. Raises SpecError for an unknown server."""
    if server == "tgi":
        words = ["text-generation-launcher", "--model-id", str(folder), "--hostname", host, "--port", str(port)]
        return shlex.join([*words, "--dtype", "bfloat16"]), f"tgi://{_address(host, port)}"
    if server == "vllm":
        words = ["vllm", "serve", str(folder), "--host", host, "--port", str(port)]
        words += ["--served-model-name", folder.name, "--dtype", "bfloat16", "--enable-prefix-caching"]
        return shlex.join(words), f"openai://{_address(host, port)}?model={quote(folder.name)}"
    raise unknown("server", server, SERVERS)


class ModelServer:
    """A process that runs `transformers serve` for a model folder: `with ModelServer(…) as server: server.url`.

    The constructor returns when the model is loaded. `end` ends the process, and so does the end of this process.
    """

    def __init__(self, folder: Path, home: Path, host: str = "127.0.0.1", port: int = 0, device: str = "cpu"):
        """Start the server. If `port` is 0, a free port is chosen.

        Raises SpecError if the address is in use, or if the server does not start.
        """
        require_libraries("transformers", "torch", "fastapi", "uvicorn", extra="train")
        self.port = _find_port(host, port)
        self.url = f"openai://{_address(host, self.port)}?model={quote(str(folder))}"
        self._log: Any = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        cache = from_launch(home).absolute() / "run" / "huggingface"
        (cache / "hub").mkdir(parents=True, exist_ok=True)  # without it /v1/models fails
        arguments = ["serve", str(folder), "--device", device, "--host", host, "--port", str(self.port)]
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-u",  # so that the last line of the log is the last that the server printed
                "-P",
                "-c",
                _START,
                str(_ROOT),
                str(os.getpid()),
                *arguments,
                "--continuous-batching",
                *_CACHE,
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=child_environment() | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(cache)},
            cwd=empty_folder(home),
            start_new_session=True,
        )
        try:
            self._wait_until_ready(_address(_reachable(host), self.port))
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def wait(self) -> None:
        """Wait until the server ends by itself, and raise SpecError, because this is an error."""
        code = self._process.wait()
        raise SpecError(f"The server ended with the status {code}: {self._last_line()}")

    def end(self) -> None:
        """End the process with SIGTERM, or with SIGKILL after END_SECONDS; return when it has ended."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                os.killpg(self._process.pid, number)
                try:
                    self._process.wait(END_SECONDS)
                except subprocess.TimeoutExpired:
                    continue
        self._process.wait()
        self._log.close()

    def _wait_until_ready(self, address: str) -> None:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the server is on this machine
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise SpecError(f"The server did not start: {self._last_line()}")
            try:
                with opener.open(f"http://{address}/health", timeout=5) as reply:
                    if reply.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        raise SpecError(f"The server did not answer within {format_limit(START_SECONDS)}: {self._last_line()}")

    def _last_line(self) -> str:
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read().decode(errors="replace").splitlines() if line.strip()]
        return lines[-1][:300] if lines else "it printed nothing"


def _find_port(host: str, port: int) -> int:
    """Return `port`, or a free port if it is 0. Raises SpecError if a server cannot use the port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
            return probe.getsockname()[1]
    except (OSError, UnicodeError) as error:
        problem = getattr(error, "strerror", None) or error
        raise SpecError(f"Cannot serve on {host}, port {port}: {problem}. Choose another --host or --port.") from None


def _address(host: str, port: int) -> str:
    return str(Origin("http", host, port)).removeprefix("http://")


def _reachable(host: str) -> str:
    """Return the address by which this machine reaches the server: loopback if it listens on all addresses."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)

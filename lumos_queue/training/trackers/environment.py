"""Settings of trackers in the environment: what is missing, defaults, and the keys that no message may contain."""

from __future__ import annotations

import netrc
import os
import re
from collections.abc import MutableMapping
from pathlib import Path
from urllib.parse import urlsplit

from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.secret_urls import HIDDEN, quotes_secret

#: Variables whose values are secret.
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
#: Variables with the address of a tracker's server, which may contain a password.
_ADDRESSES = ("MLFLOW_TRACKING_URI", "TRACKIO_SERVER_URL", "WANDB_BASE_URL", "TRACKIO_WEBHOOK_URL")
_SHORTEST_SECRET = 4  #: characters; shorter values occur in messages by chance
_LONGEST_MESSAGE = 300  #: characters
#: Values of WANDB_MODE that need no server.
_WITHOUT_SERVER = ("offline", "disabled", "dryrun")

#: Defaults: bounded waits, no reports about the use of the packages, no GPU, no questions.
_DEFAULTS = {
    "ACCELERATE_USE_CPU": "true",
    "GIT_PYTHON_REFRESH": "quiet",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "WANDB_ERROR_REPORTING": "false",
    "WANDB_INIT_TIMEOUT": "30",
    "WANDB_SILENT": "true",
}
#: Variables that would select another run, or make the tracker's process a rank of a distributed fit.
_REMOVED = ("MLFLOW_RUN_ID", "MLFLOW_NESTED_RUN", "WANDB_RUN_ID", "WANDB_RESUME", "RANK", "LOCAL_RANK", "WORLD_SIZE")
#: Variables with a folder; a relative one is below the launch folder.
_FOLDERS = ("TRACKIO_DIR", "WANDB_DIR")


def find_missing_setting(name: str) -> str:
    """Return which variable of the environment a tracker lacks, in one line with the remedy, or ''."""
    if name == "mlflow" and not os.environ.get("MLFLOW_TRACKING_URI"):
        return (
            "The tracker 'mlflow' needs MLFLOW_TRACKING_URI in the environment of the worker: the server's address, "
            "or a file such as sqlite:////data/mlflow.db."
        )
    if name == "wandb" and not _has_wandb_login():
        return "The tracker 'wandb' needs a key in the worker's environment: set WANDB_API_KEY, or WANDB_MODE=offline."
    return ""


def _has_wandb_login() -> bool:
    """Return whether W&B works without a question: offline, with a key, or after `wandb login`."""
    if os.environ.get("WANDB_MODE", "") in _WITHOUT_SERVER:
        return True
    if os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return True
    host = urlsplit(os.environ.get("WANDB_BASE_URL") or "https://api.wandb.ai").hostname or ""
    path = Path(os.environ.get("NETRC") or "~/.netrc").expanduser()
    try:
        return netrc.netrc(path).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def prepare(variables: MutableMapping[str, str]) -> None:
    """Change the environment of a tracker's process: defaults where nothing is set, and absolute paths."""
    for name, setting in _DEFAULTS.items():
        variables.setdefault(name, setting)
    for name in _REMOVED:
        variables.pop(name, None)
    for name in _FOLDERS:
        if path := variables.get(name):
            variables[name] = str(from_launch(Path(path).expanduser()).absolute())
    variables.update(CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1")
    if address := variables.get("MLFLOW_TRACKING_URI"):
        variables["MLFLOW_TRACKING_URI"] = _absolute_address(address)


def _absolute_address(address: str) -> str:
    """Return MLflow's address; a relative path of a folder or of an SQLite file is below the launch folder."""
    prefix, path = ("sqlite:///", address[10:]) if address.startswith("sqlite:///") else ("", address)
    if "://" in path or path.startswith("databricks"):
        return address
    return prefix + str(from_launch(path).absolute())


def hide_keys(message: str) -> str:
    """Return a tracker's message in one line of at most 300 characters, without keys, passwords and addresses."""
    text = " ".join(message.split())
    for name in _ADDRESSES:
        if "://" not in (address := os.environ.get(name, "")):
            continue
        for part in _address_parts(address):
            text = text.replace(part, name)
        if quotes_secret(text, address):
            return f"the message is hidden, because it contains a part of {name} that may be a password"
    for name, secret in os.environ.items():
        if _SECRET_NAME.search(name.upper()) and len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, HIDDEN)
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"


def _address_parts(address: str) -> list[str]:
    """Return what names the server in messages, the longest first: the address, host and port, the host."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # no address
        return [address]
    names = (address.rstrip("/"), f"{parts.scheme}://{parts.netloc}", parts.netloc, f"{host}:{port}", host)
    return [name for name in names if len(name.strip(":/")) >= _SHORTEST_SECRET]

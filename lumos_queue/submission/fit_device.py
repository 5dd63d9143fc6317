"""Choose the device that is stored in a fit, `cpu` or `cuda`: a person's choice, or what the live workers have."""

from __future__ import annotations

from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import SpecError, unknown
from lumos_queue.util.model_loading import import_libraries

AUTO = "auto"


def choose_device(deployment: Deployment, device: str) -> str:
    """Return `cpu` or `cuda` for the value of `--device`.

    `auto` depends on the GPU of this machine, or with a broker on the GPUs of live workers. Raises SpecError for an
    unknown value, and for `cuda` if this machine does the work itself and has no GPU.
    """
    if device not in ("cpu", "cuda", AUTO):
        raise unknown("value of --device", device, ("cpu", "cuda", AUTO))
    if device == AUTO:
        worker_device = _device_of_workers(deployment) if deployment.broker else ""
        return worker_device or ("cuda" if _has_gpu() else "cpu")
    if device == "cuda" and not deployment.broker and not _has_gpu():
        raise SpecError("--device cuda: this machine has no GPU, and without a broker the fit runs here.")
    return device


def _device_of_workers(deployment: Deployment) -> str:
    """Return `cuda` if a live worker has a GPU, '' if a live worker has not reported its GPUs, else `cpu`."""
    from db.kinds.pools import Pool, can_run
    from db.queue.sessions import live_sessions

    with deployment.create().engine.connect() as connection:
        sessions = live_sessions(connection, deployment.lease)
    capable = [session for session in sessions if can_run(session, Pool.GPU)]
    if any(session.gpus for session in capable):
        return "cuda"
    return "" if capable else "cpu"


def _has_gpu() -> bool:
    with import_libraries("torch"):
        import torch

    return torch.cuda.is_available()

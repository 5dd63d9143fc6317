"""Every place in the code that opens a file to read it: through `lumos_queue.util.regular_file`, or listed here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("lumos_queue", "workers", "db")
FUNCTION = "lumos_queue/util/regular_file.py"
#: What opens a file by its path, whatever it is a name of.
NAMES = frozenset(
    (
        *("open", "fdopen", "FileIO", "memmap", "copyfile", "copy2", "copytree", "from_file"),
        *("safe_open", "load_file", "load_weights", "GGUFReader", "imread"),
        *("ZipFile", "BZ2File", "GzipFile", "LZMAFile", "read_csv", "read_parquet", "load_workbook", "load_dataset"),
    )
)
METHODS = frozenset(("read_text", "read_bytes", "from_pretrained"))
#: What opens a file where it belongs to one of these.
OF_MODULES = {
    "load": ("json", "torch", "np", "numpy", "pickle", "marshal", "yaml", "tomllib", "bm25()"),
    "parse": ("ElementTree",),
    "connect": ("sqlite3",),
    "copy": ("shutil",),
    "input": ("fileinput",),
    "getline": ("linecache",),
}
#: Why a place may open a file by itself, and the places: file, function with its class, and call.
ALLOWED = {
    "the function itself": ("lumos_queue/util/regular_file.py: _open: os.open",),
    "a file of the project or of an installed package, or of the system": (
        "db/engine/sqlite.py: filesystem: .read_text",
        "lumos_queue/actions/local/library.py: read_articles: _FILE.read_text",
        "lumos_queue/benchmarks/openagi/splits.py: tasks_of: .read_text",
        "lumos_queue/experts/backends/own/__init__.py: _digest_of_code: path.read_bytes",
        "lumos_queue/experts/backends/own/trained_networks.py: _digest_of_code: path.read_bytes",
        "lumos_queue/experts/backends/package/efficientnet.py: Classify.__init__: torch.load",
        "lumos_queue/training/recipes/experts.py: _files: path.read_bytes",
        "lumos_queue/util/host_memory.py: _read_limit: path.read_text",
        "lumos_queue/util/host_memory.py: _read_field: .read_text",
        "lumos_queue/util/host_memory.py: read_available_memory: .read_text",
        "lumos_queue/util/host_memory.py: read_total_memory: .read_text",
        "lumos_queue/util/version.py: code_version: open",
        "lumos_queue/web/rendering.py: static_files: file.read_bytes",
    ),
    "a file that this process, or one that it works with, has written": (
        "db/engine/backup.py: _copy: sqlite3.connect",
        "db/engine/backup.py: backup: partial_file.open",
        "db/engine/sqlite.py: _connect: sqlite3.connect",
        "lumos_queue/actions/qa/index.py: Index.build: sqlite3.connect",
        "lumos_queue/actions/qa/index.py: Index.load: .load",
        "lumos_queue/actions/qa/index.py: Index.load: sqlite3.connect",
        "lumos_queue/builds/staging_database.py: StagingDatabase.__init__: sqlite3.connect",
        "lumos_queue/builds/row_files.py: _write_file: path.open",
        "lumos_queue/jobs/fork_server.py: ForkServer._run: path.read_bytes",
        "lumos_queue/jobs/train_channel.py: TrainChannel.__enter__: os.open",
        "lumos_queue/training/engine/data.py: EncodedConversations.__init__: load_file",
        "lumos_queue/training/engine/export.py: _write_adapter: load_file",
        "lumos_queue/training/engine/export.py: _write_model: .from_pretrained",
        "lumos_queue/training/engine/export.py: export_fit: file.read_bytes",
        "lumos_queue/training/engine/progress.py: Reporter.__init__: os.open",
        "lumos_queue/training/engine/ranks.py: launch_ranks: message.read_text",
        "lumos_queue/training/engine/ranks.py: main: request.read_text",
        "lumos_queue/training/rltf/checkpoint.py: load_fit: load_file",
        "lumos_queue/training/rltf/checkpoint.py: load_fit: torch.load",
        "lumos_queue/training/rltf/work.py: export: shutil.copytree",
        "workers/supervisor.py: Child.last_lines: self.log.read_text",
    ),
    "a folder or file that is opened to have the disk hold it, to lock it, or to write to it": (
        "db/engine/backup.py: backup: os.open",
        "db/engine/sqlite.py: _keep_private: os.open",
        "lumos_queue/actions/local/melody.py: Melody.write_wav: wave.open",
        "lumos_queue/builds/folder.py: _sync: os.open",
        "lumos_queue/builds/scratch.py: lock_new_folder: os.open",
        "lumos_queue/cli/standard_output.py: _discard: os.open",
        "lumos_queue/builds/scratch.py: sweep: os.open",
        "lumos_queue/cli/pictures.py: _write: os.open",
        "lumos_queue/cli/pictures.py: save_pictures: os.open",
        "lumos_queue/downloads/fetch.py: download: os.fdopen",
        "lumos_queue/jobs/train_server.py: _become_item: os.open",
        "lumos_queue/training/engine/checkpoints.py: flush: os.open",
        "lumos_queue/training/trackers/process.py: WorkerPipes.__init__: os.open",
        "lumos_queue/training/trackers/process.py: lock_run: os.open",
        "lumos_queue/util/new_file.py: write_new: os.open",
        "lumos_queue/util/new_folder.py: _sync: os.open",
        "lumos_queue/web/access/passwords.py: add_person: os.open",
        "workers/up.py: _log: os.open",
    ),
    "bytes in memory, or a file that is open already": (
        "lumos_queue/actions/qa/dump.py: _Bounded.__init__: bz2.BZ2File",
        "lumos_queue/actions/sql/database.py: copy_database: sqlite3.connect",
        "lumos_queue/benchmarks/openagi/data/augmentations.py: _compress: Image.open",
        "lumos_queue/benchmarks/openagi/data/png.py: read_png: Image.open",
        "lumos_queue/benchmarks/openagi/builder/files.py: FileIndex._list_tar: tarfile.open",
        "lumos_queue/benchmarks/openagi/builder/files.py: FileIndex._list_zip: archive.open",
        "lumos_queue/benchmarks/openagi/builder/files.py: FileIndex._list_zip: zipfile.ZipFile",
        "lumos_queue/benchmarks/openagi/builder/pictures.py: _decode: Image.open",
        "lumos_queue/benchmarks/openagi/pixels.py: _resize: Image.open",
        "lumos_queue/builds/heldout.py: asdiv_texts: ElementTree.parse",
        "lumos_queue/compat/row_join.py: open_join: sqlite3.connect",
        "lumos_queue/experts/backends/pixels.py: read_picture: Image.open",
        "lumos_queue/models/smollm2.py: read_member: archive.open",
        "lumos_queue/models/smollm2.py: read_member: zipfile.ZipFile",
        "lumos_queue/util/loose_imports.py: _modules_in_zip: zipfile.ZipFile",
        "lumos_queue/scoring/media/paper.py: _see: Image.open",
        "lumos_queue/scoring/media/pixels.py: _decode: Image.open",
        "lumos_queue/util/images.py: _decode: Pillow.open",
    ),
    "another library, after check_entries has examined the folder": (
        "lumos_queue/actions/ranking/neural.py: Neural._load: AutoTokenizer.from_pretrained",
        "lumos_queue/actions/ranking/neural.py: Neural._load: loader.from_pretrained",
        "lumos_queue/conversion/lengths.py: load_token_counter: AutoTokenizer.from_pretrained",
        "lumos_queue/endpoints/loaded_model.py: load_model: models.from_pretrained",
        "lumos_queue/endpoints/loaded_model.py: load_model: tokenizers.from_pretrained",
        "lumos_queue/experts/backends/hf/diffusion.py: _Diffusion.__init__: self.pipeline.from_pretrained",
        "lumos_queue/experts/backends/hf/images.py: AnswerAboutImage.__init__: AutoConfig.from_pretrained",
        "lumos_queue/experts/backends/hf/images.py: AnswerAboutImage.__init__: AutoImageProcessor.from_pretrained",
        "lumos_queue/experts/backends/hf/images.py: AnswerAboutImage.__init__: AutoTokenizer.from_pretrained",
        "lumos_queue/experts/backends/hf/images.py: Caption.__init__: AutoTokenizer.from_pretrained",
        "lumos_queue/experts/backends/hf/images.py: _Image.__init__: AutoImageProcessor.from_pretrained",
        "lumos_queue/experts/backends/hf/loading.py: load: auto.from_pretrained",
        "lumos_queue/experts/backends/hf/texts.py: _Text.__init__: AutoTokenizer.from_pretrained",
        "lumos_queue/experts/backends/own/models/loading.py: load_network: load_file",
        "lumos_queue/experts/backends/own/trained_networks.py: _check_header: safe_open",
        "lumos_queue/experts/encoder.py: SentenceEncoder.__init__: AutoModel.from_pretrained",
        "lumos_queue/experts/encoder.py: SentenceEncoder.__init__: AutoTokenizer.from_pretrained",
        "lumos_queue/models/merge.py: _check_names: safe_open",
        "lumos_queue/models/merge.py: _write: AutoTokenizer.from_pretrained",
        "lumos_queue/models/merge.py: _write: PeftModel.from_pretrained",
        "lumos_queue/models/merge.py: _write: auto.from_pretrained",
        "lumos_queue/models/tokens.py: _load: AutoTokenizer.from_pretrained",
        "lumos_queue/scoring/media/paper.py: _load_bert: AutoTokenizer.from_pretrained",
        "lumos_queue/scoring/media/paper.py: _load_clip: AutoImageProcessor.from_pretrained",
        "lumos_queue/scoring/media/paper.py: _load_clip: AutoTokenizer.from_pretrained",
        "lumos_queue/scoring/media/paper.py: _load_vit: AutoImageProcessor.from_pretrained",
        "lumos_queue/scoring/media/paper.py: _quiet: auto.from_pretrained",
        "lumos_queue/training/base_check.py: _compute_shapes: AutoConfig.from_pretrained",
        "lumos_queue/training/base_check.py: _read_shapes: safe_open",
        "lumos_queue/training/engine/fake_fit.py: _make_meta_model: AutoConfig.from_pretrained",
        "lumos_queue/training/engine/model.py: load_base: .from_pretrained",
        "lumos_queue/training/engine/model.py: load_tokenizer: AutoTokenizer.from_pretrained",
        "lumos_queue/training/rltf/checkpoint.py: import_architecture: AutoConfig.from_pretrained",
        "lumos_queue/training/rltf/checkpoint.py: load_policy: AutoConfig.from_pretrained",
        "lumos_queue/training/rltf/checkpoint.py: load_policy: kind.from_pretrained",
    ),
    "another library, after the file was opened by the function": (
        "lumos_queue/actions/sql/database.py: open_copy: sqlite3.connect",
        "lumos_queue/models/gguf_files.py: _read_pieces: GGUFReader",
        "lumos_queue/models/gguf_files.py: _read_tokenizer: AutoTokenizer.from_pretrained",
        "lumos_queue/models/gguf_files.py: write_model: AutoModelForCausalLM.from_pretrained",
    ),
    "no file: a method of this project that is called open, standard input, or a request": (
        "lumos_queue/actions/ranking/registry.py: open_ranker: .open",
        "lumos_queue/jobs/evaluate.py: Evaluate.open: self.infer.open",
        "lumos_queue/jobs/train_child.py: main: json.load",
        "lumos_queue/models/serve.py: ModelServer._wait_until_ready: opener.open",
        "lumos_queue/training/trackers/process.py: Logger._log: self._run.open",
        "lumos_queue/training/trackers/process.py: WorkerPipes._read: os.fdopen",
        "workers/run.py: _slice: job.open",
    ),
}


def is_for_writing(call: ast.Call, name: str) -> bool:
    """Whether a mode says that the file is written, appended to or made."""
    position = 0 if isinstance(call.func, ast.Attribute) and not is_module(call.func.value, "os", "io") else 1
    modes = [*call.args[position : position + 1], *(one.value for one in call.keywords if one.arg == "mode")]
    mode = next((one.value for one in modes if isinstance(one, ast.Constant) and isinstance(one.value, str)), "")
    return name == "open" and mode[:1] in tuple("wax")


def is_module(node: ast.expr, *names: str) -> bool:
    return ast.unparse(node) in names


def name_of(node: ast.AST) -> str:
    """`module.function`; without what comes before it where that is no name."""
    text = ast.unparse(node)
    return text if text.replace(".", "").isidentifier() else text[text.rindex(".") :]


def opens_file(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and node.attr in METHODS:
        return True  # also where the method is passed on
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    if name in METHODS:
        return False  # the attribute above; a function of that name takes bytes
    if name in OF_MODULES:
        return isinstance(node.func, ast.Attribute) and is_module(node.func.value, *OF_MODULES[name])
    return name in NAMES and not is_for_writing(node, name)


def find_openings(path: str, text: str) -> Iterator[str]:
    """`FILE: FUNCTION: CALL` of each place."""

    def visit(node: ast.AST, within: str) -> Iterator[str]:
        if opens_file(node):
            yield f"{path}: {within or 'module'}: {name_of(node.func if isinstance(node, ast.Call) else node)}"
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            yield from visit(child, f"{within}.{child.name}".strip(".") if named else within)

    yield from visit(ast.parse(text), "")


def all_openings() -> set[str]:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    return {place for file in files for place in find_openings(str(file.relative_to(ROOT)), file.read_text())}


def test_files_are_opened_by_the_one_function_or_for_a_stated_reason():
    allowed = {place for places in ALLOWED.values() for place in places}
    openings = all_openings()
    new = sorted(openings - allowed)
    assert not new, f"open these with lumos_queue.util.regular_file, or state the reason in this test: {new}"
    assert not sorted(allowed - openings), "these open no file any more: remove them from the list"


def test_no_place_has_two_reasons():
    places = [place for places in ALLOWED.values() for place in places]
    assert len(places) == len(set(places))


@pytest.mark.parametrize(
    "line",
    [
        "open(path)",
        "open(path, 'rb')",
        "path.open()",
        "path.open('r')",
        "path.open(mode='rb')",
        "path.read_text()",
        "map(Path.read_bytes, paths)",
        "os.open(path, os.O_RDONLY)",
        "io.open(path)",
        "json.load(path)",
        "sqlite3.connect(path)",
        "AutoTokenizer.from_pretrained(folder)",
        "safe_open(path, 'pt')",
        "np.load(path)",
        "Image.open(path)",
        "ElementTree.parse(path)",
        "zipfile.ZipFile(path)",
        "shutil.copy(path, other)",
    ],
)
def test_an_opening_is_noticed(line):
    assert list(find_openings("x.py", f"def read(path):\n    return {line}\n")) != []


@pytest.mark.parametrize(
    "line",
    [
        "open(path, 'w')",
        "path.open('xb')",
        "path.open(mode='a')",
        "open_regular(path)",
        "read_regular_text(path)",
        "json.loads(text)",
        "registry.load(name)",
        "database.connect()",
        "copy.copy(value)",
        "read_text(data)",
    ],
)
def test_what_opens_no_file_to_read_it_is_none(line):
    assert list(find_openings("x.py", f"def read(path):\n    return {line}\n")) == []

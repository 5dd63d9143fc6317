"""Find imports of large libraries that a thread could be the first to do, without the lock of util/model_loading.py."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

#: Libraries whose modules import each other, or are imported when a name is first used. numpy is not one of them: 20
#: fresh processes with eight threads each imported its parts without an error.
LIBRARIES = frozenset(
    {
        "PIL",
        "accelerate",
        "cv2",
        "datasets",
        "diffusers",
        "gguf",
        "huggingface_hub",
        "matplotlib",
        "pandas",
        "peft",
        "pyarrow",
        "safetensors",
        "scipy",
        "sklearn",
        "tokenizers",
        "torch",
        "torchvision",
        "transformers",
    }
)
IMPORTERS = frozenset({"__import__", "import_module", "resolve_name"})
LOCK, BLOCK, DECORATOR = "MODEL_LOADING", "import_libraries", "load_once"
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Source:
    """The imports and the loading calls of one file."""

    def __init__(self, name: str, path: str, text: str):
        self.name, self.path = name, path
        self._tree = ast.parse(text)

    def module_imports(self) -> Iterator[str]:
        """Yield the names that are imported with the module, also in classes and conditions, not for type checkers."""
        for node, blocks in _walk(self._tree, ()):
            if not any(isinstance(block, Function) for block in blocks):
                yield from _names(node)

    def problems(self, is_large: Mapping[str, bool], exempt: Iterable[str]) -> Iterator[str]:
        """Yield a line for each import or loading call that is not under the lock, but should be."""
        for node, blocks in _walk(self._tree, ()):
            place = f"{self.path}:{getattr(node, 'lineno', 0)}"
            functions = [block for block in blocks if isinstance(block, Function)]
            if not functions:
                if isinstance(node, ast.With) and _lock_of(node) is not None:
                    yield f"{place}: the lock is taken while the module is imported; take it in a function"
                continue
            locks = [names for block in blocks if (names := _lock_of(block)) is not None]
            large_names = [name for name in _names(node) if _is_large(name, is_large)]
            if large_names and not any(not names or names.issuperset(large_names) for names in locks):
                yield f"{place}: write `with {BLOCK}():` around the import of {', '.join(large_names)}"
            if isinstance(node, ast.Attribute) and node.attr == "from_pretrained" and set() not in locks:
                yield f"{place}: write `with {LOCK}:` around from_pretrained, which imports modules"
            is_dynamic = isinstance(node, ast.Call) and _last_name(node.func) in IMPORTERS
            if is_dynamic and not locks and self.path not in exempt:
                yield f"{place}: write `with {BLOCK}(NAME):` around the import of a module by its name"


def read_sources(root: Path, folders: Sequence[str]) -> list[Source]:
    sources = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            relative = path.relative_to(root)
            name = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
            sources.append(Source(name, relative.as_posix(), path.read_text()))
    return sources


def find_problems(sources: Sequence[Source], exempt: Iterable[str] = ()) -> list[str]:
    """Return a line for each import that must be under the lock. `exempt`: files that may import by a name anywhere."""
    is_large = _find_large(sources)
    return [problem for source in sources for problem in source.problems(is_large, exempt)]


def _find_large(sources: Sequence[Source]) -> dict[str, bool]:
    """Return, by name of module, whether its import also imports a large library."""
    is_large = dict.fromkeys((source.name for source in sources), False)
    imports = {source.name: list(source.module_imports()) for source in sources}
    has_changed = True
    while has_changed:
        has_changed = False
        for name in [name for name, large in is_large.items() if not large]:
            if any(_is_large(imported, is_large) for imported in imports[name]):
                is_large[name] = has_changed = True
    return is_large


def _is_large(name: str, is_large: Mapping[str, bool]) -> bool:
    """Return whether the import of a module, or of a name in it, imports a large library: itself or with a parent."""
    if name.partition(".")[0] in LIBRARIES:
        return True
    parts = name.split(".")
    return any(is_large.get(".".join(parts[:length]), False) for length in range(1, len(parts) + 1))


def _walk(node: ast.AST, blocks: tuple[ast.AST, ...]) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """Yield each node below with the functions and `with` statements around it; leave out code for type checkers."""
    for child in ast.iter_child_nodes(node):
        yield child, blocks
        if isinstance(child, ast.If) and _last_name(child.test) == "TYPE_CHECKING":
            for alternative in child.orelse:
                yield alternative, blocks
                yield from _walk(alternative, blocks)
            continue
        is_block = isinstance(child, Function | ast.With | ast.AsyncWith)
        yield from _walk(child, (*blocks, child) if is_block else blocks)


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _lock_of(block: ast.AST) -> set[str] | None:
    """Return the names of the modules that a block may import under the lock; empty: all; None: it has no lock."""
    if isinstance(block, ast.FunctionDef) and DECORATOR in map(_last_name, block.decorator_list):
        return set()
    if not isinstance(block, ast.With):
        return None
    for item in block.items:
        if _last_name(item.context_expr) == LOCK:
            return set()
        if isinstance(item.context_expr, ast.Call) and _last_name(item.context_expr.func) == BLOCK:
            return {
                argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)
                for argument in item.context_expr.args
            }
    return None


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""

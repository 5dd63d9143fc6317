"""Check every import of plug-in code, also a late import, against the digest that this process has computed.

A file is compiled from the bytes that the digest covers, so that no cache of compiled code replaces it. The import of a
file that has changed, or that the digest does not cover, is refused.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Iterable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from lumos_queue.errors import PluginChanged
from lumos_queue.util.module_files import file_of, find_unit, is_loose, root_of
from lumos_queue.util.plugin_files import Code, read_code
from lumos_queue.util.regular_file import open_regular

_HELD: dict[str, Code] = {}  #: by the name of the module
_LOADED: dict[str, tuple[str, bytes]] = {}  #: the file of each module that was imported under a digest, and its sha256
_MACHINERY = (importlib.__file__, __file__)


def hold_code(module: str) -> Code:
    """Read the code that a module belongs to, and check later imports against its digest.

    While the module stays imported, the digest is not computed again. Raises ModuleNotFoundError, and PluginChanged if
    this process has imported another state of one of the files.
    """
    unit = find_unit(module)
    code = _HELD.get(module)
    if code is not None and code.is_loaded and code.root == root_of(unit) and unit.name in sys.modules:
        return code
    code = read_code(module)
    for name, (file, digest) in tuple(_LOADED.items()):
        if name in sys.modules and code.files.get(file, digest) != digest:
            raise _change_error(file, code)
    return _hold(code)


def release_code(code: Code) -> None:
    """Stop checking imports of this code, so that its files can be corrected and imported again."""
    if _HELD.get(code.module) is code:
        del _HELD[code.module]


def digest_of(module: str) -> str:
    """Return the digest of a module's code as it is on the disk now. Raises ModuleNotFoundError.

    Later imports are checked against this digest, unless the module has been imported already.
    """
    code = read_code(module)
    held_code = _HELD.get(module)
    if held_code is None or not held_code.is_loaded or held_code.root != code.root:
        _hold(code)
    return code.digest


def _hold(code: Code) -> Code:
    of_unit = [held_code for held_code in _HELD.values() if (held_code.unit, held_code.root) == (code.unit, code.root)]
    code.is_imported_here = code.unit not in sys.modules or any(held_code.is_imported_here for held_code in of_unit)
    _HELD[code.module] = code
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    return code


def _begin_anew(unit: str, root: str) -> None:
    """Forget the digests of a package that was removed from `sys.modules` and is imported again."""
    for code in tuple(_HELD.values()):
        if code.unit == unit and (code.is_loaded or code.root != root):
            del _HELD[code.module]


class _PluginFinder(MetaPathFinder):
    """Asks Python's other finders for a module, and wraps the loader if the module belongs to a plug-in."""

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if target is not None:  # a reload imports the present state of the file
            _LOADED.pop(fullname, None)
            return None
        if not _HELD:
            return None
        spec = _ask_others(fullname, path)
        if spec is None:
            return None
        if fullname not in sys.modules:
            _begin_anew(fullname, root_of(spec))
        if spec.loader is None or not (file := file_of(spec)):
            return spec
        held_codes = tuple(_HELD.values())
        holders = [code for code in held_codes if file in code.files or fullname.startswith(f"{code.unit}.")]
        if not holders and is_loose(spec):
            importer = _find_importer()
            holders = [code for code in held_codes if code.is_imported_here and importer in code.files]
        if holders:
            if type(spec.loader) is SourceFileLoader:
                spec.loader = _HeldSource(spec.loader, fullname, file, holders)
            else:
                spec.loader = _HeldLoader(spec.loader, fullname, file, holders)
        return spec


_FINDER = _PluginFinder()


def _ask_others(name: str, path: Any) -> ModuleSpec | None:
    for finder in sys.meta_path:
        find = None if finder is _FINDER else getattr(finder, "find_spec", None)
        if find is not None and (spec := find(name, path, None)) is not None:
            return spec
    return None


def _find_importer() -> str:
    """Return the real path of the source that imports a module right now; '' if it is unknown."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith("<frozen importlib") and file not in _MACHINERY:
            return os.path.realpath(file)
        frame = frame.f_back
    return ""


class _HeldSource(SourceFileLoader):
    """Imports a source file, without the cache of compiled code, if the digest covers exactly its bytes."""

    def __init__(self, loader: SourceFileLoader, name: str, file: str, holders: Iterable[Code]):
        super().__init__(name, str(loader.path))
        self._file, self._holders = file, tuple(holders)

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path)
        _check(fullname, self._file, hashlib.sha256(source).digest(), self._holders)
        return self.source_to_code(source, self.path)


class _HeldLoader(Loader):
    """Imports a file through another loader, if the digest covers exactly its bytes."""

    def __init__(self, loader: Any, name: str, file: str, holders: Iterable[Code]):
        self._loader, self._name, self._file, self._holders = loader, name, file, tuple(holders)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        with open_regular(self._file) as file:
            _check(self._name, self._file, hashlib.sha256(file.read()).digest(), self._holders)
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def _check(name: str, file: str, digest: bytes, holders: Iterable[Code]) -> None:
    """Raise PluginChanged unless the file has this digest in the code of every plug-in that the module belongs to."""
    for code in holders:
        if file not in code.files:
            raise PluginChanged(
                f"'{name}' is in '{file}', which the digest of '{code.module}' does not cover: import it by name "
                f"in '{code.module}', with its folder in PYTHONPATH, or install it. Then start this process again."
            )
        if code.files[file] != digest:
            raise _change_error(file, code)
    _LOADED[name] = (file, digest)


def _change_error(file: str, code: Code) -> PluginChanged:
    return PluginChanged(
        f"'{file}' was changed after this process took the digest of '{code.module}': put the former file back, or "
        "start this process again."
    )

"""Find the files of published data sets in folders and archives.

Folders and archives are untrusted. Links to folders are not followed, a linked file must be in its folder, and members
of archives are unpacked one by one into a scratch folder, under new names and up to a size.
"""

from __future__ import annotations

import os
import tarfile
import tempfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from lumos_queue.errors import SpecError
from lumos_queue.readers.source import shorten
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.regular_file import UnusableFile, open_regular
from lumos_queue.util.sanitize import storable

MAX_FILES = 2_000_000  #: in all folders and archives together
MAX_MEMBER_BYTES = 1 << 30  #: of an unpacked member of an archive
ZIP, TAR = ".zip", ".tar"
#: Archives that are opened where a folder has them; others are opened if a person names them.
ARCHIVES = (
    "ILSVRC2012_img_val.tar",
    "SST-2.zip",
    "annotations_trainval2017.zip",
    "train_val_images.zip",
    "val2017.zip",
)
#: Folders of training and test data, which may have a million files.
_SKIPPED_FOLDERS = ("ILSVRC2012_img_train", "test2017", "train", "train2017", "unlabeled2017")
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


class UnusableSet(Exception):
    """Raised if a data set cannot be used. The argument is the reason, in one line."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a folder, or a member of an archive."""

    name: str  #: its path in the folder or archive, with slashes
    folder: str  #: the name of the folder that it is in; '' at the top of an archive
    _open: Callable[[], IO[bytes]]  #: raises OSError, UnusableFile or an error of _DAMAGE
    _path: Path | None  #: None for a member of an archive

    @property
    def label(self) -> str:
        """The name for messages: a line of limited length."""
        return shorten(self.name, 100)

    def save(self, scratch: Path, limit: int = MAX_MEMBER_BYTES) -> Path:
        """Return the path of the file; a member of an archive is unpacked into the folder `scratch`.

        Raises UnusableSet if the file cannot be read, or if a member has more than `limit` bytes.
        """
        try:
            with self._open() as file:
                if self._path is not None:
                    return self._path
                data = file.read(limit + 1)
        except UnusableFile as error:
            raise UnusableSet(f"'{self.label}' {error.problem}") from None
        except OSError as error:
            raise UnusableSet(f"'{self.label}' cannot be read ({error.strerror or error})") from None
        except _DAMAGE as error:
            raise UnusableSet(f"'{self.label}' cannot be unpacked ({' '.join(str(error).split())[:100]})") from None
        if len(data) > limit:
            raise UnusableSet(f"'{self.label}' unpacks to more than {limit >> 20} MB")
        number, path = tempfile.mkstemp(dir=scratch)
        with open(number, "wb") as copy:
            copy.write(data)
        return Path(path)


@dataclass(slots=True)
class FileIndex:
    """The files of folders and archives, by the last part of their names."""

    scratch: Path  #: an empty folder for members of archives
    _files: dict[str, list[DataFile]] = field(default_factory=lambda: defaultdict(list))
    _count: int = 0
    _archives: list[IO[bytes] | zipfile.ZipFile | tarfile.TarFile] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Add a folder or an archive. Raises SpecError if it cannot be read."""
        real = from_launch(path.expanduser()).absolute()
        if real.is_dir():
            self._add_folder(real)
        elif real.name.endswith((ZIP, TAR)):
            self._add_archive(real, real.parent)
        elif real.exists():
            raise SpecError(f"'{path}' is not a folder, {ZIP} or {TAR}: unpack it, and name the folder with --from.")
        else:
            raise SpecError(f"'{path}' does not exist: name a folder with data sets with --from.")

    def find(self, name: str, folder: str = "") -> DataFile | None:
        """Return the first file with a name, in a folder with a name if there is one; None without such a file."""
        matches = [file for file in self._files.get(name, ()) if not folder or file.folder == folder]
        return min(matches, key=lambda file: file.name, default=None)

    def list_files(self) -> Iterator[DataFile]:
        """Yield all files, by the last part of their names."""
        for name in sorted(self._files):
            yield from sorted(self._files[name], key=lambda file: file.name)

    def close(self) -> None:
        for archive in self._archives:
            archive.close()

    def _add_folder(self, folder: Path) -> None:
        for parent, folders, names in os.walk(folder):
            folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS and not name.startswith("."))
            for name in names:
                path = Path(parent, name)
                if name in ARCHIVES:
                    self._add_archive(path, folder)
                else:
                    name = storable(path.relative_to(folder).as_posix())[0]
                    self._keep(DataFile(name, path.parent.name, _opener(path, folder), path))

    def _add_archive(self, path: Path, folder: Path) -> None:
        try:
            file = open_regular(path, folder)
            self._archives.append(file)
            members = self._list_zip(file) if path.name.endswith(ZIP) else self._list_tar(file)
            for member_name, open_member in members:
                name = storable(member_name)[0].lstrip("/")
                self._keep(DataFile(name, PurePosixPath(name).parent.name, open_member, None))
        except UnusableFile:
            raise
        except OSError as error:
            raise SpecError(f"'{path}' cannot be read: {error.strerror or error}.") from None
        except (*_DAMAGE, MemoryError, OverflowError) as error:
            reason = " ".join(str(error).split())[:100] or type(error).__name__
            raise SpecError(f"'{path}' is not a whole archive ({reason}): download it again, or unpack it.") from None

    def _list_zip(self, file: IO[bytes]) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
        archive = zipfile.ZipFile(file)
        self._archives.append(archive)
        for member in archive.infolist():
            if not member.is_dir():
                yield member.filename, lambda member=member: archive.open(member)

    def _list_tar(self, file: IO[bytes]) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
        archive = tarfile.open(fileobj=file, mode="r:")  # noqa: SIM115
        self._archives.append(archive)
        for member in archive:
            if member.isreg():
                yield member.name, lambda member=member: _open_member(archive, member)

    def _keep(self, file: DataFile) -> None:
        self._count += 1
        if self._count > MAX_FILES:
            raise SpecError(f"There are more than {MAX_FILES:,} files: name the folders of the data sets with --from.")
        self._files[PurePosixPath(file.name).name].append(file)


def _opener(path: Path, folder: Path) -> Callable[[], IO[bytes]]:
    return lambda: open_regular(path, folder)


def _open_member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(member)
    if content is None:
        raise tarfile.TarError("it is not a file")
    return content


def describe(paths: Sequence[Path]) -> str:
    """Return the names of folders for a message."""
    return ", ".join(f"'{path}'" for path in paths[:5]) + (", …" if len(paths) > 5 else "")

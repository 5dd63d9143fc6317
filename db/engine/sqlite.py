"""Open an SQLite file, with write-ahead logging and only for this user. A read-only file is opened for reading."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from contextlib import suppress
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event

from db.engine.failures import EnginePool, translate_failures
from db.engine.json_columns import read_json
from db.engine.white_space import SQLITE_FUNCTION, remove_space
from lumos_queue.errors import SpecError
from lumos_queue.util.wording import format_bytes

#: File systems on which SQLite's locks do not hold between machines.
NETWORK_FILESYSTEMS = frozenset(
    (
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "glusterfs",
        "lustre",
        "gpfs",
        "beegfs",
        "ocfs2",
        "fuse.sshfs",
        "fuse.s3fs",
        "fuse.glusterfs",
    )
)

MAX_PARKED = 8  #: files whose engines are retained, and engines of one file
#: Engines without a connection, by address, by whether the file is writable, and by the seconds of the pool. A program
#: that runs many short jobs opens the same file again and again, in up to three threads at once.
_parked_engines: dict[tuple[URL, bool, float], list[Engine]] = {}


def open_sqlite(address: URL, pool_seconds: float) -> Engine:
    """Return an engine for the file, which is created if necessary. Raises SpecError when its path cannot be used.

    `pool_seconds`: how long a thread waits for a connection while all of them are in use.
    """
    if not address.database or address.database == ":memory:":
        raise SpecError("An in-memory SQLite database is lost with its process: name a file, sqlite:///FILE.")
    path = Path(address.database)
    folder = path.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"Cannot create the folder '{folder}' for the database: {error.strerror}.") from None
    kind = filesystem(folder)
    if kind in NETWORK_FILESYSTEMS:
        raise SpecError(
            f"The database '{path}' is on a network file system ({kind}), where SQLite loses writes: "
            "set LUMOS_HOME to a local folder or LUMOS_DATABASE_URL to a PostgreSQL server."
        )
    writable = os.access(folder, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
    if not writable and not path.exists():
        raise SpecError(f"Cannot write the database '{path}': the folder is read-only. Set LUMOS_HOME to another one.")
    if writable:
        _keep_private(path)
    with suppress(KeyError, IndexError):
        return _parked_engines[address, writable, pool_seconds].pop()
    return _make_engine(address, path, writable, pool_seconds)


def park(engine: Engine) -> None:
    """Close the connections of an engine that is no longer used, and keep the engine for the next `open_sqlite`.

    The engine has compiled statements: compiling the statements of a short job takes half of the job's time.
    """
    engine.dispose()
    options = engine.get_execution_options()
    key = engine.url, options["lumos_writable"], options["lumos_pool_seconds"]
    engines = _parked_engines.setdefault(key, [])
    if len(engines) < MAX_PARKED:
        engines.append(engine)
    for key in list(_parked_engines)[:-MAX_PARKED]:
        _parked_engines.pop(key, None)


def _make_engine(address: URL, path: Path, writable: bool, pool_seconds: float) -> Engine:
    engine_options = {"poolclass": EnginePool, "pool_timeout": pool_seconds, "json_deserializer": read_json}
    if writable:
        options = {"timeout": 10, "check_same_thread": False}
        engine = create_engine(address, connect_args=options, **engine_options)
    else:
        engine = create_engine(address, creator=lambda: _connect_for_reading(path), **engine_options)
    translate_failures(engine)
    engine.update_execution_options(lumos_writable=writable, lumos_pool_seconds=pool_seconds)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # `begin` below begins the transactions, not the driver
        connection.text_factory = _read_text
        connection.create_function(SQLITE_FUNCTION, 1, remove_space, deterministic=True)
        for pragma in ("busy_timeout=10000", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
        if writable:
            _use_wal(connection)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A transaction that reads first cannot wait for the lock later, so one that will write takes the lock at once.
        writes = connection.get_execution_options().get("lumos_write")
        if writes and not writable:
            raise SpecError(
                f"The database '{path}' or its folder is read-only here: it can be read, not changed. "
                "Make both writable for this user, or set LUMOS_HOME to another folder."
            )
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _read_text(data: bytes) -> str:
    """Return a stored text. Damaged bytes become replacement characters: an error would fail the whole query."""
    return data.decode("utf-8", "replace")


def _connect_for_reading(path: Path) -> sqlite3.Connection:
    """Return a connection that writes nothing, not even the files that SQLite shares with writers.

    Raises SpecError when a log beside the file has writes that cannot be read without writing.
    """
    uri = path.absolute().as_uri()
    connection = _connect(f"{uri}?mode=ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
        return connection
    except sqlite3.OperationalError:
        connection.close()
    # Without the file that coordinates readers and writers, SQLite only reads a file that is declared immutable. This
    # is true if no process writes: a writer has a log beside the file. A log that is not empty must not be ignored.
    log = Path(f"{path}-wal")
    with suppress(FileNotFoundError):
        if size := log.stat().st_size:
            raise SpecError(
                f"The database '{path}' cannot be read here: {format_bytes(size)} of writes that are not in it yet are "
                f"in '{log.name}', and the folder is read-only. Run a command such as 'lumos jobs' once where the "
                "folder can be written, or make a copy there with: lumos db backup FILE"
            )
    return _connect(f"{uri}?mode=ro&immutable=1")


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=10, check_same_thread=False)


def _keep_private(path: Path) -> None:
    """Create the file, or take other users' rights away if this user owns it, because it contains prompts and answers.

    SQLite gives its files beside the database the same mode.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with suppress(OSError):
            status = file.stat()
            if status.st_uid == os.geteuid() and stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
                file.chmod(0o600)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Change a new file to write-ahead logging.

    If two processes do this at once, SQLite refuses it to one of them, without waiting.
    """
    for seconds in (0.01, 0.05, 0.2, 1.0):
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode=WAL")
            return
        time.sleep(seconds)
    connection.execute("PRAGMA journal_mode=WAL")


def filesystem(folder: Path) -> str:
    """Return the type of the file system that contains `folder`; '' if the system is not Linux."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    path = str(folder.resolve()).rstrip("/") + "/"
    best, kind = "", ""
    for line in mounts:
        parts = line.split()
        point = parts[1].replace("\\040", " ").rstrip("/") + "/"
        if path.startswith(point) and len(point) >= len(best):
            best, kind = point, parts[2]
    return kind

"""Find code of the product that can open a connection or look up a name: calls, base classes and imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("lumos_queue", "workers", "db", "migrations")
#: Names of functions, methods and classes, of the standard library and of packages, that connect or look up a name.
CONNECTING = frozenset(
    [
        "connect",
        "connect_ex",
        "create_connection",
        "create_datagram_endpoint",
        "create_unix_connection",
        "open_connection",
        "open_unix_connection",
        "sock_connect",
        "start_connection",
        "connect_tcp",
        "sendto",
        "getaddrinfo",
        "gethostbyname",
        "gethostbyname_ex",
        "gethostbyaddr",
        "getnameinfo",
        "urlopen",
        "urlretrieve",
        "build_opener",
        "HTTPConnection",
        "HTTPSConnection",
        "FTP",
        "FTP_TLS",
        "SMTP",
        "SMTP_SSL",
        "IMAP4",
        "POP3",
        "ServerProxy",
        "Client",
        "AsyncClient",
        "ClientSession",
        "PoolManager",
        "ConnectionPool",
        "AsyncConnectionPool",
        "AsyncHTTPClient",
        "HTTPClient",
        "OpenAI",
        "AsyncOpenAI",
        "AzureOpenAI",
        "InferenceClient",
        "AsyncInferenceClient",
        "HfApi",
        "snapshot_download",
        "hf_hub_download",
        "load_dataset",
        "from_pretrained",
        "Connection",
        "AsyncConnection",
        "Redis",
        "StrictRedis",
        "from_url",
        "Celery",
        "create_engine",
        "create_async_engine",
        "init_process_group",
        "TCPStore",
    ]
)
#: Packages and modules with which a connection can be made.
NETWORK = frozenset(
    [
        "aiohappyeyeballs",
        "aiohttp",
        "aiomysql",
        "asyncpg",
        "asyncmy",
        "boto3",
        "celery",
        "datasets",
        "fsspec",
        "ftplib",
        "grpc",
        "http.client",
        "httpcore",
        "httpcore2",
        "httpx",
        "httpx2",
        "huggingface_hub",
        "imaplib",
        "kombu",
        "MySQLdb",
        "mysql",
        "nntplib",
        "openai",
        "paramiko",
        "poplib",
        "psycopg",
        "psycopg2",
        "pymysql",
        "redis",
        "requests",
        "smtplib",
        "socketserver",
        "telnetlib",
        "tornado.httpclient",
        "tornado.tcpclient",
        "tornado.simple_httpclient",
        "tornado.websocket",
        "torch.distributed",
        "urllib.request",
        "urllib3",
        "websocket",
        "websockets",
        "xmlrpc",
    ]
)
#: What has a `connect` of another kind: the deployment's database, SQLite's files, and Celery's signals.
_NO_NETWORK = re.compile(r"(^|\.)_?(engine|sqlite3)$|^(worker|after)_\w+$")


def find_calls(root: Path) -> set[tuple[str, str]]:
    """Return the file and name of everything that can connect, except calls that declare to read only local files."""
    return {
        (file, name)
        for file, tree in _parse(root)
        for name in _all_names(tree)
        if name.rpartition(".")[2] in CONNECTING and not _NO_NETWORK.search(name.rpartition(".")[0])
    }


def find_imports(root: Path) -> set[tuple[str, str]]:
    """Return the file and the module of every import of what is in NETWORK."""
    return {
        (file, match)
        for file, tree in _parse(root)
        for node in ast.walk(tree)
        for module in _modules(node)
        for match in NETWORK
        if module == match or module.startswith(f"{match}.")
    }


def _parse(root: Path) -> Iterator[tuple[str, ast.Module]]:
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            yield str(path.relative_to(root)), ast.parse(path.read_text(encoding="utf-8"))


def _all_names(tree: ast.Module) -> Iterator[str]:
    """The names of what is called, inherited from, imported under another name, or kept for a later call."""
    callees = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if not any(word.arg == "local_files_only" and _is_true(word.value) for word in node.keywords):
                yield ast.unparse(node.func)
        elif isinstance(node, ast.ClassDef):
            yield from map(ast.unparse, node.bases)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.asname)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in callees:
            yield ast.unparse(node)


def _is_true(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []

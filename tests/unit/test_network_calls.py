"""Every piece of the product that connects to an address is listed here, with what checks the address.

A job's options, a model's text and a stored row name addresses, and workers connect from their own network. So new code
that connects must go through a check first. When this test fails: use `endpoints/dial.py` (or `execution/tools/http.py`
for pages), or add a line that says what checks the address.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.network_calls import find_calls, find_imports

#: Guards of addresses that a job names: the function that checks, and the file that calls it.
HOSTS = ("hosts.problem", "lumos_queue/endpoints/dial.py")
MYSQL = ("check_addresses", "lumos_queue/actions/sql/server.py")
DIALLED = ("dial", "lumos_queue/endpoints/connections.py")
PAGES = ("self._guard.addresses", "lumos_queue/execution/tools/connections.py")
RESOLVED = ("self._problem", "lumos_queue/execution/tools/guard.py")
BACKEND = ("CheckedBackend", "lumos_queue/execution/tools/http.py")
#: No guard, as no job names the address.
DEPLOYMENT = "the deployment's database or broker, a setting of this process"
THIS_MACHINE = "a loopback address that the code writes"
LISTENS = "an address to listen on, an option of the command"
PUBLIC_FILES = "a benchmark's file, whose address is in the code"
FOLDER = "a folder of this machine, which is read"
NAME_ONLY = "a class of this project with such a name"

CALLS = {
    ("db/engine/bulk.py", "psycopg.Connection"): DEPLOYMENT,
    ("db/engine/connection.py", "create_engine"): DEPLOYMENT,
    ("db/engine/failures.py", "super().connect"): DEPLOYMENT,
    ("db/engine/connection.py", "dialect.connect"): DEPLOYMENT,
    ("db/engine/migrate.py", "database.writer.connect"): DEPLOYMENT,
    ("db/engine/sqlite.py", "create_engine"): DEPLOYMENT,
    ("lumos_queue/actions/sql/login.py", "connect"): MYSQL,
    ("lumos_queue/actions/sql/login.py", "connection.connect"): MYSQL,
    ("lumos_queue/actions/sql/login.py", "pymysql.Connection"): MYSQL,
    ("lumos_queue/actions/sql/mysql.py", "open_connection"): MYSQL,
    ("lumos_queue/cli/doctor.py", "Connection"): DEPLOYMENT,
    ("lumos_queue/downloads/fetch.py", "httpx2.Client"): PUBLIC_FILES,
    ("lumos_queue/endpoints/chat.py", "OpenAI"): NAME_ONLY,
    ("lumos_queue/endpoints/chat.py", "httpx2.AsyncClient"): DIALLED,
    ("lumos_queue/endpoints/chat.py", "openai.AsyncOpenAI"): DIALLED,
    ("lumos_queue/endpoints/connections.py", "Connection"): NAME_ONLY,
    ("lumos_queue/endpoints/connections.py", "loop.create_connection"): DIALLED,
    ("lumos_queue/endpoints/dial.py", "aiohappyeyeballs.start_connection"): HOSTS,
    ("lumos_queue/endpoints/dial.py", "asyncio.get_running_loop().getaddrinfo"): HOSTS,
    ("lumos_queue/endpoints/dial.py", "connect"): HOSTS,
    ("lumos_queue/endpoints/dial.py", "socket.getaddrinfo"): HOSTS,
    ("lumos_queue/endpoints/server.py", "Client"): NAME_ONLY,
    ("lumos_queue/endpoints/tgi_info.py", "AsyncInferenceClient"): DIALLED,
    ("lumos_queue/endpoints/tgi_info.py", "httpx2.AsyncClient"): DIALLED,
    ("lumos_queue/execution/tools/connections.py", "self._sockets.connect_tcp"): PAGES,
    ("lumos_queue/execution/tools/guard.py", "asyncio.get_running_loop().getaddrinfo"): RESOLVED,
    ("lumos_queue/execution/tools/http.py", "httpcore2.AsyncConnectionPool"): BACKEND,
    ("lumos_queue/experts/backends/hf/images.py", "AutoConfig.from_pretrained"): FOLDER,
    ("lumos_queue/experts/backends/hf/images.py", "AutoImageProcessor.from_pretrained"): FOLDER,
    ("lumos_queue/experts/backends/hf/images.py", "AutoTokenizer.from_pretrained"): FOLDER,
    ("lumos_queue/experts/backends/hf/texts.py", "AutoTokenizer.from_pretrained"): FOLDER,
    ("lumos_queue/experts/backends/remote_server.py", "Client"): NAME_ONLY,
    ("lumos_queue/models/gguf_files.py", "AutoModelForCausalLM.from_pretrained"): FOLDER,
    ("lumos_queue/models/gguf_files.py", "AutoTokenizer.from_pretrained"): FOLDER,
    ("lumos_queue/models/merge.py", "PeftModel.from_pretrained"): FOLDER,
    ("lumos_queue/models/serve.py", "socket.getaddrinfo"): LISTENS,
    ("lumos_queue/models/serve.py", "urllib.request.build_opener"): LISTENS,
    ("lumos_queue/scoring/media/paper.py", "AutoImageProcessor.from_pretrained"): FOLDER,
    ("lumos_queue/scoring/media/paper.py", "AutoTokenizer.from_pretrained"): FOLDER,
    ("lumos_queue/training/engine/model.py", "auto_class(folder).from_pretrained"): FOLDER,
    ("lumos_queue/web/access/client_address.py", "Client"): NAME_ONLY,
    ("lumos_queue/web/server.py", "socket.getaddrinfo"): LISTENS,
    ("workers/app.py", "Celery"): DEPLOYMENT,
    ("workers/transports.py", "pyamqp.Connection"): DEPLOYMENT,
    ("workers/up.py", "Connection"): DEPLOYMENT,
    ("workers/up.py", "socket.create_connection"): THIS_MACHINE,
}
#: Who may import what can connect: the packages, and the files or folders.
IMPORTS = {
    "aiohappyeyeballs": ("lumos_queue/endpoints/dial.py",),
    "celery": ("workers/",),
    "datasets": ("lumos_queue/api/episodes.py",),  # makes a data set of rows in memory
    "httpcore2": ("lumos_queue/execution/tools/connections.py", "lumos_queue/execution/tools/http.py"),
    "httpx2": ("lumos_queue/downloads/fetch.py", "lumos_queue/endpoints/chat.py", "lumos_queue/endpoints/tgi_info.py"),
    "huggingface_hub": ("lumos_queue/endpoints/tgi_info.py", "lumos_queue/util/weights.py"),
    "kombu": ("lumos_queue/cli/doctor.py", "workers/"),
    "openai": ("lumos_queue/endpoints/chat.py",),
    "psycopg": ("db/engine/bulk.py",),
    "pymysql": ("lumos_queue/actions/sql/login.py", "lumos_queue/actions/sql/mysql.py"),
    "redis": ("workers/broker_refusals.py",),  # its errors
    "torch.distributed": ("lumos_queue/training/engine/ranks.py",),  # processes of one fit, on this machine
    "urllib.request": ("lumos_queue/models/serve.py",),
}


def test_whatever_connects_is_listed_with_what_checks_the_address():
    calls = find_calls(ROOT)
    assert not calls - CALLS.keys(), "new code connects: what checks the address?"
    assert not CALLS.keys() - calls, "no code does this any more: take the line out"


def test_only_these_files_import_what_can_connect():
    strangers = [(file, module) for file, module in find_imports(ROOT) if not file.startswith(IMPORTS.get(module, ()))]
    assert not strangers, "new code imports what can connect: what checks its addresses?"


@pytest.mark.parametrize(("guard", "file"), sorted({guard for guard in CALLS.values() if isinstance(guard, tuple)}))
def test_the_guards_are_called(guard, file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert guard in {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


@pytest.mark.parametrize(
    "text",
    [
        "import socket\nsocket.create_connection((host, 80))",
        "import socket\nline = socket.socket()\nline.connect((host, 80))",
        "from asyncio import open_connection as begin\nbegin(host, 80)",
        "import asyncio\nbegin = asyncio.open_connection\nbegin(host, 80)",
        "import socket as s\ns.getaddrinfo(host, 80)",
        "import pymysql\npymysql.connect(host=host)",
        "from openai import AsyncOpenAI\nAsyncOpenAI(base_url=url)",
        "from transformers import AutoModel\nAutoModel.from_pretrained(name)",
        "import httpx2\n\nclass Mine(httpx2.AsyncClient): ...",
    ],
)
def test_new_code_that_connects_is_seen(tmp_path: Path, text):
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "new.py").write_text(text)
    assert find_calls(tmp_path)


@pytest.mark.parametrize(
    "text", ["import requests", "def f():\n    from urllib import request", "import http.client as c"]
)
def test_new_imports_are_seen(tmp_path: Path, text):
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "new.py").write_text(text)
    assert find_imports(tmp_path)


def test_what_reads_local_files_alone_does_not_connect(tmp_path: Path):
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "new.py").write_text("AutoModel.from_pretrained(name, local_files_only=True)\nengine.connect()")
    assert not find_calls(tmp_path) and not find_imports(tmp_path)

"""Read settings once at startup from variables LUMOS_* of the environment. Other code gets them as arguments."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from lumos_queue.errors import SpecError
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.plugins import TRUSTED
from lumos_queue.util.secret_urls import hide_secrets


class Settings(BaseSettings):
    """The settings of a process. The variable of a field is `LUMOS_` followed by its name in capitals.

    >>> import lumos_queue as lq
    >>> at_work = lq.Settings(home="elsewhere", concurrency=8)
    >>> job = lq.infer("wordmath", formulation="direct", solver=lambda prompt: "7", limit=2, deployment=at_work).wait()
    """

    model_config = SettingsConfigDict(env_prefix="LUMOS_", frozen=True, extra="ignore")

    home: Annotated[Path, AfterValidator(from_launch)] = Field(
        default=Path(".lumos"), description="folder of the embedded database, of checkpoints and of a deployment's logs"
    )
    database_url: str = Field(
        default="",
        repr=False,
        description="`postgresql://USER:PASSWORD@HOST/NAME` or `sqlite:///FILE`; empty: SQLite in `LUMOS_HOME`",
    )
    broker_url: str = Field(
        default="",
        repr=False,
        description="`redis://:PASSWORD@HOST:PORT/0` or `amqp://USER:PASSWORD@HOST:PORT//` (with TLS: `rediss`, "
        "`amqps`); empty: no broker, jobs run in the process that submits them",
    )
    contact: str = Field(
        default="",
        description="your address or page, sent to web services with `--live`: Wikipedia's operators ask for one",
    )
    api_keys: Path | None = Field(
        default=None,
        description="file, mode 600, with one line `https://HOST[:PORT] KEY` for each model server, and "
        "`mysql://HOST[:PORT] USER PASSWORD` for each server of `--tool mysql=…`",
    )
    endpoint_hosts: str = Field(
        default="",
        description="model servers and MySQL servers that may be called, separated by commas: `gpu-1:8080, "
        "*.models.example, 10.1.0.0/16`; empty: any, but never link-local or metadata addresses, which must be listed "
        "one by one",
    )
    web_port: int = Field(default=8642, ge=0, le=65535, description="port of `lumos web`; 0: any that is free")
    web_token: str = Field(
        default="",
        repr=False,
        description="token of `lumos web` where no passwords are asked, at least 16 characters; empty: a new one each "
        "time",
    )
    web_url: str = Field(default="", description="address of the explorer, to which Flower links")
    flower_url: str = Field(default="", description="address of Flower, to which the explorer links")
    serve_key: str = Field(
        default="", repr=False, description="key that requests to `lumos serve` must have; empty: none is required"
    )
    mysql_user: str = Field(
        default="",
        description="user at MySQL servers on loopback addresses of this machine; any other server of "
        "`--tool mysql=mysql://HOST:PORT` needs a line in the file of `LUMOS_API_KEYS`",
    )
    mysql_password: str = Field(
        default="", repr=False, description="that user's password; only logins that do not reveal it are made"
    )
    plugins: str = Field(
        default="",
        description="modules of plug-ins, and folders with such modules, that jobs may name, with commas "
        "(docs/plugins.md)",
    )
    concurrency: int = Field(default=64, ge=1, description="episodes in flight in one worker process")
    request_seconds: float = Field(
        default=120.0, gt=0, description="a model call that takes longer is late: the server's health is watched"
    )
    silence_seconds: float = Field(
        default=1800.0, gt=0, description="a late call is given up when its server has answered none for so long"
    )
    request_retries: int = Field(
        default=4, ge=0, description="further tries of one model call before its item is pending again"
    )
    heartbeat_seconds: float = Field(
        default=2.0, gt=0, description="a worker process reports this often that it is alive"
    )
    lease_seconds: float = Field(default=15.0, gt=0, description="a process silent for so long has lost its items")
    fence_seconds: float = Field(
        default=10.0, gt=0, description="a process that could not report for so long stops itself"
    )
    flush_seconds: float = Field(
        default=0.1, ge=0, description="steps wait at most this long for others to commit with"
    )
    slice_seconds: float = Field(
        default=60.0,
        gt=0,
        description="a worker looks for other jobs after so long, and leaves its job after ten times as long",
    )
    drain_seconds: float = Field(
        default=4.0,
        ge=0,
        description="items in flight may continue for so long after TERM; if you raise it, raise systemd's "
        "`TimeoutStopSec` too",
    )
    poll_seconds: float = Field(default=2.0, gt=0, description="a dispatcher looks this often for pending items")
    project: str = Field(default="default", description="project of the jobs that are submitted: a field of filters")
    user: str = Field(
        default_factory=lambda: _user(), description="who submits, corrects, labels and approves; default: USER@HOST"
    )

    @field_validator("api_keys", mode="before")
    @classmethod
    def _absolute(cls, value: object) -> object:
        return from_launch(Path(value).expanduser()).absolute() if isinstance(value, str) and value else value or None

    @property
    def database(self) -> str:
        """The database's URL in SQLAlchemy's form."""
        if not self.database_url:
            return f"sqlite:///{self.home / 'lumos.db'}"
        scheme, separator, rest = self.database_url.partition("://")
        if scheme in ("postgres", "postgresql"):
            scheme = "postgresql+psycopg"
        if not separator or scheme not in ("sqlite", "postgresql+psycopg"):
            raise SpecError(
                f"LUMOS_DATABASE_URL is {hide_secrets(self.database_url)}: expected sqlite:///FILE or "
                "postgresql://HOST/NAME."
            )
        if scheme == "sqlite" and len(rest) > 1 and rest != "/:memory:":
            rest = f"/{from_launch(rest[1:])}"
        return scheme + separator + rest


def read_settings() -> Settings:
    """Return the settings of this process, and permit it to import the plug-ins that they list.

    Raises SpecError if a variable is wrong; the message names it.
    """
    try:
        settings = Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = "LUMOS_" + str(first["loc"][0]).upper()
        # A setting without a default's representation may be a secret.
        problem = f"is '{first['input']}'" if Settings.model_fields[str(first["loc"][0])].repr else "cannot be used"
        raise SpecError(f"{name} {problem}: {first['msg']}.") from None
    if not settings.heartbeat_seconds < settings.fence_seconds < settings.lease_seconds:
        raise SpecError(
            f"LUMOS_HEARTBEAT_SECONDS {settings.heartbeat_seconds}, LUMOS_FENCE_SECONDS {settings.fence_seconds} and "
            f"LUMOS_LEASE_SECONDS {settings.lease_seconds} must be strictly increasing."
        )
    _check_broker_url(settings.broker_url)
    _check_endpoint_settings(settings)
    TRUSTED.add_listed(settings.plugins)
    return settings


def check_page_address(option: str, url: str) -> None:
    """Raise SpecError unless the URL is an http or https address of a server. It becomes a link in pages."""
    from lumos_queue.util.addresses import Origin

    try:
        Origin.of(url)
    except ValueError:
        raise SpecError(f"{option} is '{url[:80]}': expected http://HOST[:PORT] or https://HOST[:PORT].") from None


def _check_broker_url(urls: str) -> None:
    """Raise SpecError for a URL that the broker's client cannot read; the client's own error could quote a password."""
    for url in urls.split(";") if urls else ():
        try:
            parts = urlsplit(url)
            fine = bool(parts.scheme) and "://" in url and (parts.port or 1) > 0
        except ValueError:
            fine = False
        if not fine:
            raise SpecError(
                f"LUMOS_BROKER_URL is {hide_secrets(urls)}: expected redis://:PASSWORD@HOST:PORT/0 or "
                "amqp://USER:PASSWORD@HOST:PORT//. In a password, write %40 for @, %2F for /, %3A for :, %3F for ?, "
                "%23 for # and %3B for ;."
            )


def _check_endpoint_settings(settings: Settings) -> None:
    from lumos_queue.endpoints.accounts import read_accounts
    from lumos_queue.endpoints.api_keys import EXAMPLE, read_keys
    from lumos_queue.endpoints.hosts import Hosts

    if any(value for name, value in os.environ.items() if name.upper() == "LUMOS_API_KEY"):
        raise SpecError(
            "LUMOS_API_KEY went to every server that a job names, and is not read any more: write a line such as "
            f"'{EXAMPLE}' for each server into a file, run chmod 600 on it, and put its path into LUMOS_API_KEYS."
        )
    Hosts(settings.endpoint_hosts)
    for name, value in (("LUMOS_WEB_URL", settings.web_url), ("LUMOS_FLOWER_URL", settings.flower_url)):
        if value:
            check_page_address(name, value)
    if settings.api_keys:
        read_keys(settings.api_keys)
        read_accounts(settings.api_keys)


def _user() -> str:
    import getpass

    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (OSError, KeyError):
        return "unknown"

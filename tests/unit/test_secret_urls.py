"""URLs in messages: whatever a person mistyped, no part of a password is printed."""

from __future__ import annotations

import pytest

from db.engine.connection import _connect, open_database
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from lumos_queue.util.secret_urls import NOT_A_URL, hide_secrets, quotes_secret

SECRET = "SECRETaaa1"
URLS = [
    f"postgresql://lumos:{SECRET}@h:5432/x",
    f"postgresql://lumos@h/x?password={SECRET}",
    f"postgresql:///x?host=/tmp&sslpassword={SECRET}",
    f"postgres//lumos:{SECRET}@h/x",
    f"postgresql:/lumos:{SECRET}@h/x",
    f"mysql://lumos:{SECRET}@h/x",
    f"postgresql://lumos:{SECRET}@h:port/x",
    f"postgresql://lumos:{SECRET}/a@h/x",
    f"postgresql://lumos:{SECRET}#a@h/x",
    f"postgresql://lumos:{SECRET}?a@h/x",
    f"postgresql://lumos:a@{SECRET}@h/x",
    f"postgresql://lumos:{SECRET}:h/x",
    f"postgresql://lumos:{SECRET}/h",
    f"postgresql://h/x password={SECRET}",
    f"postgresql://[{SECRET}/x",
    f"{SECRET}:lumos://h/x",
    f"lumos:{SECRET}@postgresql://h/x",
    f"redis://{SECRET}@h/0",
    f"redis://:a;{SECRET}@h/0",
    f"amqp://u:{SECRET}@a:5672//;amqp://u:{SECRET}@b:5672//",
    SECRET,
]


@pytest.mark.parametrize("url", URLS)
def test_no_part_of_a_password_is_shown(url):
    assert SECRET not in hide_secrets(url)
    assert quotes_secret(f'invalid value "{SECRET}" in a connection string', url)


@pytest.mark.parametrize("url", URLS)
def test_settings_that_cannot_be_used_are_one_line_without_the_password(url, lumos):
    lumos.set(LUMOS_DATABASE_URL=url)
    ran = lumos("jobs")
    assert ran.code == 2 and SECRET not in ran.err + ran.out and len(ran.err.splitlines()) == 1
    assert SECRET not in repr(Settings(database_url=url, broker_url=url))


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("postgresql://lumos:pw@h:5432/x", "postgresql://lumos:***@h:5432/x"),
        ("postgresql:///x?host=/run/pg&password=a", "postgresql:///x?host=/run/pg"),
        ("sqlite:////home/a@b/lumos.db", "sqlite:////home/a@b/lumos.db"),
        ("redis://:pw@h:6379/0", "redis://***@h:6379/0"),
        ("amqp://u:p@a//;amqp://u:p@b//", "amqp://u:***@a//;amqp://u:***@b//"),
        ("postgresql://u:p@[::1]:5/x", "postgresql://u:***@[::1]:5/x"),
        ("postgres//u:p@h", NOT_A_URL),
    ],
)
def test_what_is_certain_is_shown(url, text):
    assert hide_secrets(url) == text


@pytest.mark.parametrize("url", ["redis://:{}@h:nine/0", "redis://:{}/x@h/0", "redis:{}@h", "redis://:a;{}@h/0"])
def test_a_broker_that_cannot_be_read_is_one_line(url, lumos):
    lumos.set(LUMOS_BROKER_URL=url.format(SECRET))
    ran = lumos("doctor")
    assert ran.code == 2 and SECRET not in ran.err + ran.out and len(ran.err.splitlines()) == 1
    assert ran.err.startswith("lumos: LUMOS_BROKER_URL is ")


def test_a_drivers_message_that_quotes_the_password_is_hidden():
    class Driver:
        class OperationalError(Exception):
            pass

    class Dialect:
        loaded_dbapi = Driver

        def connect(self, **_: object) -> None:
            raise Driver.OperationalError(self.message)

    dialect = Dialect()
    for message, is_shown in ((f'missing "=" after "{SECRET}"', False), ('role "lumos" does not exist', True)):
        dialect.message = message
        with pytest.raises(Driver.OperationalError) as caught:
            _connect(f"postgresql://lumos:{SECRET}@h/x", dialect, None, (), {})
        assert (message in str(caught.value)) is is_shown and SECRET not in str(caught.value)


def test_a_port_that_is_no_number_names_the_setting():
    with pytest.raises(SpecError, match=r"LUMOS_DATABASE_URL is postgresql\+psycopg://\*\*\*: expected"):
        open_database("postgresql+psycopg://u:p@h:port/x")

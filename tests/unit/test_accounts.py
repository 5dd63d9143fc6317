"""Accounts of databases in the file of keys: each is bound to one server, and no message shows what a line says."""

from __future__ import annotations

import pytest

from lumos_queue.endpoints.accounts import Account, find_account, read_accounts
from lumos_queue.endpoints.api_keys import read_keys
from lumos_queue.errors import SpecError
from lumos_queue.settings import read_settings
from lumos_queue.util.addresses import DATABASE_PORTS, Origin


def keys_in(folder, text: str):
    path = folder / "keys"
    path.touch(0o600)
    path.write_text(text)
    return path


def server(url: str) -> Origin:
    return Origin.of(url, DATABASE_PORTS)


def test_keys_and_accounts_share_a_file(tmp_path):
    path = keys_in(tmp_path, "# ours\nhttps://db.example.org k1\nMySQL://DB.example.org ann p#ss:wörd@/1\n")
    assert [str(origin) for origin in read_keys(path)] == ["https://db.example.org"]
    assert read_accounts(path) == {server("mysql://db.example.org"): Account("ann", "p#ss:wörd@/1", True)}


def test_an_account_is_bound_to_host_and_port(tmp_path):
    path = keys_in(
        tmp_path, "mysql://db.example.org ann p1\nmysql://[::1]:3307/ bob p2\nmysql://bücher.example eve p3\n"
    )
    accounts = [
        find_account(path, server(url))
        for url in (
            "mysql://DB.example.org:3306",
            "mysql://db.example.org.",
            "mysql://[0::1]:3307",
            "mysql://xn--bcher-kva.example",
            "mysql://db.example.org:3307",
            "mysql://example.org",
            "mysql://[::1]",
            "mysql://evil-db.example.org",
        )
    ]
    assert [account.user if account else None for account in accounts] == ["ann", "ann", "bob", "eve", *[None] * 4]
    assert find_account(None, server("mysql://db.example.org")) is None


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("mysql://host", "expected an address, a user and a password"),
        ("mysql://host s3cret", "expected an address, a user and a password"),
        ("mysql://host ann s3cret cleartext", "expected an address, a user and a password"),
        ("mysql://ann:s3cret@host ann k", "the address is not mysql"),
        ("mysql://host/s3cret ann k", "the address is not mysql"),
        ("mysql://host?s3cret ann k", "the address is not mysql"),
        ("mysql://host:s3cret ann k", "the address is not mysql"),
        ("mysql:// ann s3cret", "the address is not mysql"),
        ("mysql://host ann s3cr\x00et", "printable"),
        ("mysql://host s3cr\x1b[2Jet k", "printable"),
        ("mysql://A:3306 bob s3cret2", "an earlier line has an account for the same server"),
    ],
)
def test_a_wrong_line_is_named_by_its_number_and_never_shown(tmp_path, monkeypatch, line, problem):
    path = keys_in(tmp_path, f"# accounts\nmysql://a ann s3cret\n{line}\n")
    monkeypatch.setenv("LUMOS_API_KEYS", str(path))
    for read in (lambda: read_accounts(path), read_settings):
        with pytest.raises(SpecError, match=rf"LUMOS_API_KEYS, {path}, line 3: .*{problem}") as caught:
            read()
        assert "s3cr" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_that_others_can_read_is_refused(tmp_path):
    path = keys_in(tmp_path, "mysql://host ann s3cret")
    path.chmod(0o640)
    with pytest.raises(SpecError, match=f"Others can read {path}.*run chmod 600 {path}"):
        read_accounts(path)


def test_a_password_is_in_no_text(tmp_path):
    assert "s3cret" not in repr(read_accounts(keys_in(tmp_path, "mysql://host ann s3cret")))

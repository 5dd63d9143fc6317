"""The client of a request: who may state it, and which address counts."""

from __future__ import annotations

import pytest

from lumos_queue.web.access.client_address import Client, Proxies, group_address

PROXIES = Proxies(["127.0.0.1", "10.0.0.0/8", "fd00::/8"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("203.0.113.9", "198.51.100.7", "203.0.113.9"),  # not a proxy: the header is a claim of the sender
        ("127.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("127.0.0.1", "1.2.3.4, 198.51.100.7", "198.51.100.7"),  # the left part is the sender's own text
        ("127.0.0.1", "198.51.100.7, 10.1.2.3", "198.51.100.7"),  # two proxies
        ("127.0.0.1", "198.51.100.7, 10.1.2.3, 10.9.9.9", "198.51.100.7"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", "198.51.100.7, <script>", "127.0.0.1"),
        ("127.0.0.1", "198.51.100.7, x, 10.1.2.3", "10.1.2.3"),
        ("::ffff:127.0.0.1", "2001:db8::1", "2001:db8::1"),
        ("fd00::5", "::ffff:198.51.100.7", "198.51.100.7"),
    ],
)
def test_the_client_is_the_rightmost_address_that_is_no_proxy(peer: str, forwarded: str, address: str):
    assert PROXIES.find_client(peer, False, forwarded, "").address == address


@pytest.mark.parametrize(
    ("peer", "is_secure", "stated", "result"),
    [
        ("127.0.0.1", False, "https", True),
        ("127.0.0.1", False, "http", False),
        ("127.0.0.1", False, "https, http", False),  # the proxy appends its own
        ("203.0.113.9", False, "https", False),
        ("203.0.113.9", True, "http", True),
    ],
)
def test_only_a_proxy_states_the_scheme(peer: str, is_secure: bool, stated: str, result: bool):
    assert PROXIES.find_client(peer, is_secure, "198.51.100.7", stated).is_secure is result


def test_addresses_of_one_ipv6_customer_are_one_group():
    assert group_address("2001:db8:1:2::1") == group_address("2001:db8:1:2:ffff::9") == "2001:db8:1:2::/64"
    assert group_address("2001:db8:1:3::1") != group_address("2001:db8:1:2::1")
    assert Client("::ffff:192.0.2.1", False).group == "192.0.2.1"


def test_a_text_that_is_no_address_is_refused():
    with pytest.raises(ValueError, match="nonsense"):
        Proxies(["nonsense"])

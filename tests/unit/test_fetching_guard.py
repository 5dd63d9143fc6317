"""What the guard refuses, in all spellings, before and after names are looked up."""

from __future__ import annotations

import asyncio
import socket

import pytest

from lumos_queue.errors import ActionError, InfrastructureError
from lumos_queue.execution.tools.guard import Guard, system_resolve
from lumos_queue.execution.tools.named_server import NamedServer

REFUSED = [
    # loopback, as people write it
    "http://127.0.0.1/",
    "http://127.0.0.1:80/",
    "https://127.0.0.1/",
    "http://127.255.255.254/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://localhost:80",
    "http://web.localhost/",
    "HTTP://LocalHost/",
    "http://127.0.0.1./",
    "http://localhost.localdomain/",
    # loopback, as only some libraries read it
    "http://2130706433/",
    "http://0x7f000001/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0x7f.0.0.1/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.000.000.001/",
    "http://0X7F.0X0.0X0.0X1/",
    "http://00000177.1/",
    "http://0x7f.0.0.0x1./",
    "http://127.0.0.0x/",
    "http://4294967297/",
    "http://0/",
    "http://0x/",
    # other letters that stand for the same
    "http://１２７.０.０.１/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://127．0．0．1/",
    "http://ⓛocalhost/",
    "http://ｌｏｃａｌｈｏｓｔ/",
    "http://127.0.0.¹/",
    # percent signs, user names, and what confuses parsers
    "http://%31%32%37.0.0.1/",
    "http://127.0.0.1%2f@example.com/",
    "http://example.com@127.0.0.1/",
    "http://example.com:80@127.0.0.1/",
    "http://user:password@example.com/",
    "http://@example.com/",
    "http://127.0.0.1\\@example.com/",
    "http://example.com\\@127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http:/127.0.0.1/",
    "http:127.0.0.1",
    "http:///127.0.0.1/",
    "//127.0.0.1/",
    "127.0.0.1/",
    "http://127.0.0.1 .example.com/",
    "http://exam\tple.com/",
    "http://example.com\r\nHost: 127.0.0.1/",
    "http://example.com\x00.127.0.0.1/",
    " http://example.com/",
    "http://exa\u00admple.com\u200b/x",
    "http://",
    "http://./",
    "http://../",
    "",
    # IPv6, and IPv4 inside it
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[0000::0001]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[::FFFF:A00:1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:c0a8:1::1]/",
    "http://[2001::1]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[2606:4700::1111%251]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fd20:ce::254]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[100::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[5f00::1]/",
    "http://[::ffff:8.8.8.8]/",
    "http://[::1",
    "http://[::1]:80x/",
    "http://[v1.127.0.0.1]/",
    "http://[127.0.0.1]/",
    "http://[localhost]/",
    "http://[]/",
    # the networks around us, and what is nobody's
    "http://10.0.0.1/",
    "http://10.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://192.168.1/",
    "http://169.254.0.1/",
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://0.0.0.0/",
    "http://0.1.2.3/",
    "http://192.0.0.1/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://192.88.99.1/",
    "http://224.0.0.1/",
    "http://239.255.255.255/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    # metadata services of clouds
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.170.2/",
    "http://100.100.100.200/",
    "http://192.0.0.192/",
    "http://168.63.129.16/",
    "http://metadata.google.internal/",
    "http://metadata/",
    "http://0xa9fea9fe/",
    "http://2852039166/",
    "http://0251.0376.0251.0376/",
    "http://[::ffff:169.254.169.254]/",
    # names of this network
    "http://router/",
    "http://printer.local/",
    "http://nas.lan/",
    "http://wiki.intranet/",
    "http://x.home.arpa/",
    "http://db.internal./",
    # other schemes and ports
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://example.com/",
    "javascript:alert(1)",
    "data:text/html,x",
    "unix:///run/docker.sock",
    "http+unix://%2Frun%2Fx.sock/",
    "https://example.com:8443/",
    "http://example.com:22/",
    "http://example.com:443/",
    "https://example.com:80/",
    "http://example.com:0/",
    "http://example.com:65536/",
    "http://example.com:-1/",
    "http://example.com:８０/",
    "http://example.com:80a/",
    # no names
    "http://ex ample.com/",
    "http://-.com/",
    "http://a..com/",
    "http://under_score.com/",
    "http://exa<mple.com/",
    "http://" + "a" * 64 + ".com/",
    "http://" + "a." * 130 + "com/",
    "http://example.com/" + "x" * 9000,
]


def run(coroutine):
    return asyncio.run(coroutine)


def test_an_address_that_is_not_the_public_web_is_refused_before_anything_is_looked_up():
    asked = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["93.184.216.34"]

    guard = Guard(resolve=resolve)
    for url in REFUSED:
        try:
            guard.check(url)
        except ActionError as error:
            assert error.kind == "refused", url
            assert str(error).isprintable(), "a message is one line without control characters"
        else:
            pytest.fail(f"not refused: {url}")
    assert asked == []


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://en.wikipedia.org/wiki/Bern", "https://en.wikipedia.org/wiki/Bern"),
        ("HTTPS://EN.Wikipedia.ORG./wiki/Bern#History", "https://en.wikipedia.org/wiki/Bern"),
        ("http://example.com:80?q=a b".replace(" ", "+"), "http://example.com/?q=a+b"),
        ("https://example.com:443/a/../b", "https://example.com/a/../b"),
        ("https://bücher.example/größe?x=ä", "https://xn--bcher-kva.example/gr%C3%B6%C3%9Fe?x=%C3%A4"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
        ("http://[2606:4700:0:0::1111]:80/", "http://[2606:4700::1111]/"),
        ("https://abc.de/", "https://abc.de/"),  # hexadecimal digits, and yet a name
        ("http://1.2.3.com/", "http://1.2.3.com/"),
        ("http://example.com/#@127.0.0.1/", "http://example.com/"),
        ("http://example.com/?u=http://127.0.0.1/", "http://example.com/?u=http://127.0.0.1/"),
        ("http://example.com/100%25%0d%0a", "http://example.com/100%25%0d%0a"),
    ],
)
def test_a_public_address_is_taken_apart_once_and_sent_in_one_spelling(url, sent):
    assert Guard().check(url).url == sent


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "10.0.0.1"],
        ["10.0.0.1", "93.184.216.34"],
        ["::1"],
        ["fe80::1%2"],
        ["::ffff:192.168.0.1"],
        ["64:ff9b::7f00:1"],
        ["2606:4700::1111", "fd00::1"],
        ["100.64.9.9"],
        ["0.0.0.0"],
        ["169.254.169.254"],
        ["2002:a00:1::"],
        ["224.0.0.251"],
    ],
)
def test_a_name_is_refused_when_any_of_its_addresses_is_not_public(addresses):
    async def resolve(host: str, port: int) -> list[str]:
        return addresses

    with pytest.raises(ActionError, match=r"rebind\.example\.com .* is not asked") as error:
        run(Guard(resolve=resolve).addresses("rebind.example.com", 443))
    assert error.value.kind == "refused"


def test_a_name_whose_addresses_are_public_gives_them_all():
    async def resolve(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "2606:4700::1111"]

    assert run(Guard(resolve=resolve).addresses("example.com", 80)) == ["93.184.216.34", "2606:4700::1111"]


def test_a_name_without_an_address_is_asked_again_later():
    async def nothing(host: str, port: int) -> list[str]:
        return []

    with pytest.raises(InfrastructureError, match=r"no address is known for 'example\.com'"):
        run(Guard(resolve=nothing).addresses("example.com", 80))
    with pytest.raises(InfrastructureError, match=r"no address is known for 'no-such-name\.invalid'"):
        run(system_resolve("no-such-name.invalid", 80))


def test_the_systems_own_reading_of_odd_numbers_is_checked_too():
    """What getaddrinfo makes of `127.1` is loopback, whoever asked it: the second look refuses it."""
    assert socket.getaddrinfo("127.1", 80)[0][4][0] == "127.0.0.1"
    for host in ("127.1", "0x7f.1", "2130706433", "localhost"):
        with pytest.raises(ActionError, match="loopback"):
            run(Guard().addresses(host, 80))


def test_what_is_allowed_is_one_address_with_one_port():
    guard = Guard(allowed_addresses={("127.0.0.1", 8080)})
    assert guard.check("http://127.0.0.1:8080/x").authority == "127.0.0.1:8080"
    assert run(guard.addresses("127.0.0.1", 8080)) == ["127.0.0.1"]
    for url in (
        "http://127.0.0.1/",
        "http://127.0.0.2:8080/",
        "http://127.1:8080/",
        "http://127.0.0.1:8081/",
        "http://[::ffff:127.0.0.1]:8080/",
    ):
        with pytest.raises(ActionError):
            guard.check(url)
    with pytest.raises(ActionError):
        run(guard.addresses("127.0.0.1", 80))


def test_nothing_is_allowed_by_the_environment(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "LUMOS_ALLOWED"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    with pytest.raises(ActionError):
        Guard().check("http://127.0.0.1/")


NAMED = "http://127.0.0.1:8080/virtual"


def answering(*addresses: str):
    """A resolver that says the same of every name."""

    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/", "http://127.0.0.1:8080/other?x=1", "HTTP://127.0.0.1.:8080/"]
)
def test_the_server_that_a_person_has_named_is_asked_wherever_it_is(url):
    guard = Guard(server=NamedServer.of(NAMED))
    assert guard.check(url).authority == "127.0.0.1:8080"
    assert asyncio.run(guard.addresses("127.0.0.1", 8080)) == ["127.0.0.1"]


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:8080/",
        "http://127.0.0.1:8081/",
        "http://127.0.0.1/",
        "http://127.0.0.2:8080/",
        "http://localhost:8080/",
        "http://[::1]:8080/",
        "http://[::ffff:127.0.0.1]:8080/",
        "http://127.1:8080/",
        "http://0x7f.0.0.1:8080/",
        "http://user@127.0.0.1:8080/",
        "http://10.0.0.1:8080/",
        "http://example.com:8080/",
        "http://127.0.0.1:8080\\@example.com/",
    ],
)
def test_nothing_but_the_origin_that_was_named_is_asked_besides(url):
    with pytest.raises(ActionError, match="is not asked") as raised:
        Guard(server=NamedServer.of(NAMED)).check(url)
    assert raised.value.kind == "refused"


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 8081), ("127.0.0.2", 8080), ("other.example", 8080)])
def test_a_connection_elsewhere_is_refused_although_a_server_was_named(host, port):
    guard = Guard(resolve=answering("127.0.0.1"), server=NamedServer.of(NAMED))
    with pytest.raises(ActionError, match="is not asked: it is a loopback address"):
        asyncio.run(guard.addresses(host, port))


def test_a_named_server_is_held_to_the_rule_of_model_servers():
    url = "http://tools.lan:8080/virtual"

    def reach(address: str, listed: str = "") -> list[str]:
        guard = Guard(resolve=answering(address), server=NamedServer.of(url, listed))
        target = guard.check(url)
        return asyncio.run(guard.addresses(target.host, target.port))

    assert reach("192.168.3.4") == ["192.168.3.4"]
    assert reach("192.168.3.4", "tools.lan:8080") == ["192.168.3.4"]
    assert reach("169.254.169.254", "169.254.169.254") == ["169.254.169.254"]
    with pytest.raises(ActionError, match="if it is meant, list it in LUMOS_ENDPOINT_HOSTS"):
        reach("169.254.169.254")
    with pytest.raises(ActionError, match="is not among LUMOS_ENDPOINT_HOSTS"):
        reach("192.168.3.4", "other.lan")

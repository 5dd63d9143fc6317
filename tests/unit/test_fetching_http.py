"""GET requests over real sockets to a fake web: redirects, sizes, times, compressions, certificates, rate limits."""

from __future__ import annotations

import asyncio
import email.utils
import ssl
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from lumos_queue.errors import ActionError, InfrastructureError, LumosError
from lumos_queue.execution.tools.guard import Guard
from lumos_queue.execution.tools.http import GuardedHttp
from lumos_queue.execution.tools.rate_limit import HostRateLimiter
from tests.fake_web import FakeWeb

JSON = ["application/json"]
NAME = "web.example.com"


def http(web: FakeWeb, **options) -> GuardedHttp:
    """A client that may reach the fake web, under any name, and nothing else on this machine."""

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    guard = options.pop("guard", None) or Guard({("127.0.0.1", web.port)}, resolve)
    return GuardedHttp(guard, "lumos-test/1", rate_limiter=HostRateLimiter(0), **options)


def get(client: GuardedHttp, *urls: str, types=JSON):
    """The body of the last; the error of the first that fails."""

    async def ask():
        try:
            for url in urls:
                reply = await client.get(url, types)
            return reply
        finally:
            await client.close()

    return asyncio.run(ask())


def error_of(client: GuardedHttp, url: str) -> LumosError:
    with pytest.raises((ActionError, InfrastructureError)) as error:
        get(client, url)
    return error.value


def test_a_page_comes_back_with_where_it_was_found():
    with FakeWeb() as web:
        reply = get(http(web), web.url(f"/redirect?to={web.url('/bytes/10')}"))
    assert reply.body == b" " * 10 and reply.url == web.url("/bytes/10") and reply.media_type == "application/json"


def test_fault_32_requests_say_who_asks_and_take_no_settings_from_the_environment(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    with FakeWeb() as web:
        get(http(web), web.url("/bytes/1"))
        [(_, _, headers)] = web.requests
    assert headers["User-Agent"] == "lumos-test/1"
    assert headers["Accept"] == "application/json" and headers["Accept-Encoding"] == "gzip"
    assert not {"Cookie", "Authorization", "Referer"} & headers.keys()


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1/",
        "http://127.1:{port}/",
        "http://0x7f.1:{port}/bytes/1",
        "http://2130706433:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/bytes/1",
        "//localhost:{port}/bytes/1",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "file:///etc/passwd",
        "http://x@127.0.0.1:{port}/bytes/1",
        "http://127.0.0.1:{port}\\@example.com/",
        "gopher://127.0.0.1:{port}/",
        "http://127.0.0.2:{port}/bytes/1",
        "http://metadata.google.internal/",
        "https://127.0.0.1:22/",
    ],
)
def test_a_redirect_into_this_network_is_refused(target):
    with FakeWeb() as web:
        location = quote(target.format(port=web.port))
        for number, status in enumerate((301, 302, 303, 307, 308), start=1):
            error = error_of(http(web), web.url(f"/redirect?status={status}&to={location}"))
            assert web.count == number, "the second address was never asked"
            assert isinstance(error, ActionError) and error.kind == "refused"


def test_redirects_that_never_end_are_left():
    with FakeWeb() as web:
        error = error_of(http(web), web.url("/loop"))
        assert web.count == 6
    assert isinstance(error, ActionError) and error.kind == "http_error" and "more than 5 times" in str(error)


def test_the_address_that_was_checked_is_the_one_that_is_connected_to():
    """A name server that answers well to the first question and badly to every later one is asked one question."""
    answers: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        answers.append("127.0.0.1" if not answers else "127.0.0.2")
        return [answers[-1]]

    with FakeWeb() as web:
        guard = Guard({("127.0.0.1", web.port)}, rebinding)
        get(http(web, guard=guard), web.url("/bytes/1", NAME), web.url("/bytes/1", NAME))
        assert answers == ["127.0.0.1"] and web.count == 2  # the second request used the first one's connection
        error = error_of(http(web, guard=guard), web.url("/bytes/1", NAME))
        assert isinstance(error, ActionError) and error.kind == "refused" and "127.0.0.2" in str(error)
        assert web.count == 2


def test_a_redirect_to_a_name_of_this_network_is_refused_at_its_resolved_address():
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"] if host == NAME else ["192.168.7.7"]

    with FakeWeb() as web:
        guard = Guard({("127.0.0.1", web.port)}, resolve)
        url = web.url(f"/redirect?to=http://inner.example.com:{web.port}/", NAME)
        error = error_of(http(web, guard=guard), url)
        assert web.count == 1
    assert isinstance(error, ActionError) and "inner.example.com (192.168.7.7)" in str(error)


def test_one_private_address_among_public_ones_is_enough_to_refuse():
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1", "10.0.0.1"]

    with FakeWeb() as web:
        error = error_of(http(web, guard=Guard({("127.0.0.1", web.port)}, resolve)), web.url("/bytes/1", NAME))
        assert web.count == 0
    assert isinstance(error, ActionError) and error.kind == "refused"


def test_an_address_that_does_not_answer_is_passed_over_for_the_next():
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.9", "127.0.0.1"]

    with FakeWeb() as web:
        guard = Guard({("127.0.0.1", web.port), ("127.0.0.9", web.port)}, resolve)
        assert get(http(web, guard=guard), web.url("/bytes/3", NAME)).body == b"   "


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    """A self-signed certificate for NAME, with its key in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            f"/CN={NAME}",
            "-addext",
            f"subjectAltName=DNS:{NAME}",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    (folder / "both.pem").write_bytes((folder / "cert.pem").read_bytes() + (folder / "key.pem").read_bytes())
    return folder / "both.pem"


def test_the_certificate_is_verified_for_the_name_though_the_connection_goes_to_an_address(certificate):
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=str(certificate))
    with FakeWeb(context=serving) as web:
        assert get(http(web, ssl_context=trusting), web.url("/bytes/2", NAME)).body == b"  "
        other = error_of(http(web, ssl_context=trusting), web.url("/bytes/2", "other.example.com"))
        assert isinstance(other, InfrastructureError) and "ertificate" in str(other)
        stranger = error_of(http(web), web.url("/bytes/2", NAME))
        assert isinstance(stranger, InfrastructureError) and "ertificate" in str(stranger)
        down = error_of(http(web, ssl_context=trusting), web.url(f"/redirect?to=http://{NAME}:{web.port}/", NAME))
        assert isinstance(down, ActionError) and "from https to" in str(down)


def test_more_than_the_bound_is_not_read():
    with FakeWeb() as web:
        assert len(get(http(web, max_bytes=100_000), web.url("/bytes/100000")).body) == 100_000
        error = error_of(http(web, max_bytes=100_000), web.url("/bytes/100001"))
        endless = error_of(http(web, max_bytes=100_000), web.url(f"/bytes/{1 << 40}"))
    assert isinstance(error, ActionError) and error.kind == "too_large"
    assert isinstance(endless, ActionError) and endless.kind == "too_large"


def test_a_compressed_bomb_is_unpacked_no_further_than_the_bound():
    import tracemalloc

    with FakeWeb() as web:
        client = http(web, max_bytes=1 << 20)
        tracemalloc.start()
        error = error_of(client, web.url("/bomb"))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert isinstance(error, ActionError) and error.kind == "too_large"
    assert most < 40 << 20, "300 MB were never there (the fake web builds its 300 kB in this process too)"


def test_compressions_that_were_not_asked_for_are_not_unpacked():
    with FakeWeb() as web:
        assert get(http(web), web.url("/encoded/gzip")).body == b'{"packed": true}'
        for name in ("br", "zstd", "deflate", "gzip, gzip"):
            error = error_of(http(web), web.url(f"/encoded/{name.replace(' ', '%20')}"))
            assert isinstance(error, ActionError) and error.kind == "bad_reply" and "unasked" in str(error)
        broken = error_of(http(web), web.url("/encoded/x-gzip"))
        assert isinstance(broken, ActionError) and "broken gzip" in str(broken)
        assert isinstance(error_of(http(web), web.url("/encoded/half")), InfrastructureError)


def test_fault_32_a_server_that_drips_or_hangs_is_left_in_time():
    with FakeWeb(["hang"]) as web:
        for path in ("/drip", "/w/api.php?action=parse&page=x"):
            error = error_of(http(web, seconds=0.4), web.url(path))
            assert isinstance(error, InfrastructureError) and "within 0.4 s" in str(error)


def test_a_server_that_is_not_there_or_hangs_up_is_asked_again_later():
    with FakeWeb(["reset", "half"]) as web:
        for _ in range(2):
            assert isinstance(error_of(http(web), web.url("/w/api.php?action=parse&page=x")), InfrastructureError)
        gone = http(web)
    assert isinstance(error_of(gone, web.url("/bytes/1")), InfrastructureError)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, "not_found"), (410, "not_found"), (403, "http_error"), (304, "http_error"), (302, "http_error")],
)
def test_a_status_that_will_not_change_is_an_error_for_the_model(status, kind):
    with FakeWeb() as web:
        error = error_of(http(web), web.url(f"/status/{status}"))
    assert isinstance(error, ActionError) and error.kind == kind and str(status) in str(error)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_status_that_may_change_is_asked_again_after_the_time_the_server_names(status):
    with FakeWeb() as web:
        error = error_of(http(web), web.url(f"/status/{status}?Retry-After=7"))
    assert isinstance(error, InfrastructureError) and error.retry_after == 7


@pytest.mark.parametrize("kind", ["text/html", "image/png", "application/octet-stream", "x/y; charset=json"])
def test_a_type_that_was_not_asked_for_is_refused(kind):
    with FakeWeb() as web:
        error = error_of(http(web), web.url(f"/type/{kind.replace(' ', '%20')}"))
        assert get(http(web), web.url("/type/application/json;charset=UTF-8")).charset == "utf-8"
    assert isinstance(error, ActionError) and error.kind == "bad_reply"


def test_a_host_is_asked_one_thing_at_a_time():
    async def ask_together():
        client = http(web)
        await asyncio.gather(*(client.get(web.url(f"/bytes/{n}"), JSON) for n in range(12)))
        await client.close()

    with FakeWeb() as web:
        asyncio.run(ask_together())
        assert (web.count, web.most_at_once) == (12, 1)


def test_a_host_that_asks_for_a_pause_gets_it_and_others_are_asked_meanwhile():
    async def ask():
        client = http(web)
        with pytest.raises(InfrastructureError):
            await client.get(web.url("/status/503?Retry-After=120"), JSON)
        with pytest.raises(InfrastructureError, match="asked for a pause") as pause:
            await client.get(web.url("/bytes/1"), JSON)
        await client.get(web.url("/bytes/1", NAME), JSON)
        await client.close()
        return pause.value.retry_after or 0.0

    with FakeWeb() as web:
        assert 100 < asyncio.run(ask()) <= 120
        assert web.count == 2


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("0", 0), ("3", 3), ("", 5), ("soon", 5), ("9" * 500, 3600), ("-4", 5), ("Fri, 31 Dec 1999 23:59:59 GMT", 0)],
)
def test_what_a_server_says_about_later_is_read_with_care(said, seconds):
    assert HostRateLimiter().pause("example.com", said) == seconds


def test_a_pause_may_end_at_a_date():
    date = email.utils.format_datetime(email.utils.localtime().replace(year=email.utils.localtime().year + 1))
    assert HostRateLimiter().pause("example.com", date) == 3600


def test_a_short_pause_is_waited_for():
    async def ask():
        rate_limiter = HostRateLimiter(0)
        rate_limiter.pause("example.com", "0")
        async with rate_limiter.turn("example.com"):
            pass
        rate_limiter._hosts["example.com"].free_at = time.monotonic() + 0.2
        started = time.monotonic()
        async with rate_limiter.turn("example.com"):
            return time.monotonic() - started

    assert asyncio.run(ask()) >= 0.19

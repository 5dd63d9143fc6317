"""The database goes away while pages are open, and comes back."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import make_url

from db.connection import open_database
from tests.explorers import serving
from tests.scored_jobs import scored_job
from tests.tcp_proxy import TcpProxy


def test_pages_say_so_and_open_ones_follow_again(postgres_url, chromium):
    context = chromium.new_context()  # not `page`: parts that cannot be loaded are told on its console
    page = context.new_page()
    address = make_url(postgres_url)
    direct = open_database(postgres_url)
    job = scored_job(direct, [[1], [0], [1]], owed=1)
    socket = str(Path(str(address.query["host"])) / ".s.PGSQL.5432")
    with TcpProxy(socket) as proxy:
        through = address.set(host="127.0.0.1", port=proxy.port, query={})
        database = open_database(through.render_as_string(hide_password=False))
        with serving(database) as explorer:
            client = explorer.client()
            page.goto(f"{explorer.login_url}&next=/jobs/{job}")
            page.get_by_text("answered 2").wait_for()
            proxy.mode = "drop"
            page.get_by_text("The database does not answer").first.wait_for()
            page.get_by_text("answered 2").wait_for()  # what was known stays
            for path in ("/jobs", f"/jobs/{job}", f"/episodes/{job}-0", "/annotate", "/workers", "/actions"):
                answer = client.get(path)
                assert answer.status_code == 503 and "The database does not answer" in answer.text, path
            proxy.mode = "pass"
            page.get_by_text("The database does not answer").first.wait_for(state="hidden")
            assert client.get(f"/jobs/{job}").status_code == 200
        database.close()
    context.close()
    direct.close()

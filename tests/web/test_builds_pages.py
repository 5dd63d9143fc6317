"""Builds: the list, one, the difference of two, and a new one by way of its preview."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator

import pytest

from db.engine.connection import Database
from db.queries.web_actions import list_actions
from lumos_queue.builds.folder import MANIFEST
from lumos_queue.builds.options import BuildOptions
from lumos_queue.submission.build_request import make_build
from lumos_queue.web.access.users import Role
from lumos_queue.web.drafts import Draft
from tests.explorers import Client, Explorer, RoleLogin, call_explorer
from tests.services import wait_until
from tests.web.conversions import convert_rows

ROWS, AGAIN = 12, 2  #: of the conversion, and of those converted a second time
OPTIONS = {"where": "benchmark=wordmath", "format": "lumos", "formulations": "iterative"}
HOSTILE = "<script>document.title='run'</script>\u202e"


@pytest.fixture(scope="module")
def stored(request, tmp_path_factory) -> Iterator[Database]:
    """A conversion, and some of its rows converted a second time; in SQLite, or in the database that a test names."""
    server = None if getattr(request, "param", "sqlite") == "sqlite" else request.getfixturevalue("postgres_server")
    url = server.fresh() if server else ""
    opened, _ = convert_rows(tmp_path_factory.mktemp("stored"), ROWS, AGAIN, url)
    yield opened
    opened.close()
    if server:
        server.drop(url)


@pytest.fixture
def explorer(stored, tmp_path) -> Iterator[Explorer]:
    with call_explorer(stored, home=tmp_path) as called:
        yield called


def make(explorer: Explorer, name: str, **options) -> dict:
    """A build as the command makes it."""
    target = explorer.site.settings.home / "builds" / name
    return make_build(explorer.site.database, name, target, BuildOptions(where="origin!=derived", **options))[0]


def wait_for(client: Client, draft: str, state: str) -> str:
    """The draft's page, once it is in that state."""
    text = ""

    def is_there() -> bool:
        nonlocal text
        text = client.get(draft).text
        assert 'class="state failed"' not in text or state == "failed", text
        return f'class="state {state}"' in text

    wait_until(is_there, f"the draft is {state}", 60, 0.02)
    return text


@pytest.mark.parametrize("stored", ["sqlite", "postgresql"], indirect=True)
def test_a_build_is_previewed_and_made_as_it_was_previewed(explorer):
    client = explorer.client()
    answer = client.submit("/builds/new", {"name": "mine", **OPTIONS, "formulations": ["iterative", "one-pass"]})
    assert answer.status_code == 303, answer.text
    draft = answer.headers["location"]
    shown = wait_for(client, draft, "previewed")
    folder = explorer.site.settings.home / "builds" / "mine"
    assert not folder.exists() and list(explorer.site.settings.home.rglob("*.sqlite")) == []
    assert f"{ROWS} of {ROWS + AGAIN} episodes read" in shown and re.search(rf"duplicate</th><td>{AGAIN}<", shown)
    assert "0 episodes are left out because their tasks are in a test split." in shown
    assert f"MIT: wordmath {4 * ROWS} rows" in shown
    assert "test splits stored here" in shown and "pretty_name: &#34;mine&#34;" in shown
    digest = re.findall(r'Digest <span class="name">(\w{64})', shown)
    assert client.submit(draft + "/build").status_code == 303
    wait_for(client, draft, "built")
    manifest = json.loads((folder / MANIFEST).read_text())
    assert [manifest["digest"]] == digest
    page = client.get("/builds/mine").text
    assert digest[0] in page and "planner_iterative.jsonl" in page
    assert "All files are unchanged." in client.get("/builds/named/mine/files").text
    with explorer.site.reading() as connection:
        noted = [(one.person, one.action, one.target) for one in list_actions(connection, 1)]
    assert noted == [("ann@here", "build", "mine")]
    again = client.submit("/builds/new", {"name": "mine", **OPTIONS, "formulations": ["iterative", "one-pass"]})
    assert "The same build exists already" in wait_for(client, again.headers["location"], "previewed")
    assert client.submit(draft + "/build").status_code == 400


def test_what_is_in_a_test_split_is_said_and_what_may_stay_too(explorer):
    client = explorer.client()
    against = {**OPTIONS, "against": "wordmath:familiar\nwordmath:dev"}
    draft = client.submit("/builds/new", {"name": "none", **against}).headers["location"]
    assert "stands in wordmath:dev: equal text" in wait_for(client, draft, "failed")
    draft = client.submit("/builds/new", {"name": "all", **against, "allow_contaminated": "true"}).headers["location"]
    shown = wait_for(client, draft, "previewed")
    assert "Tasks that a test split contains are kept." in shown and re.search(r"wordmath:dev \([\d,]+ rows\)", shown)


def test_what_changed_since_the_preview_is_not_built(explorer):
    client = explorer.client()
    draft = client.submit("/builds/new", {"name": "moved", **OPTIONS}).headers["location"]
    wait_for(client, draft, "previewed")
    one = explorer.site.drafts.find(draft.rpartition("/")[2])
    assert one is not None and one.manifest is not None
    one.manifest["digest"] = "0" * 64  # as if other episodes had been stored then
    client.submit(draft + "/build")
    assert "make a new preview" in wait_for(client, draft, "failed")
    assert not (explorer.site.settings.home / "builds").exists()


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"where": "nosuch=1"}, "No field called"),
        ({"where": "score=1; DROP TABLE episode"}, "expected a number"),
        ({"where": "benchmark~'"}, "Cannot read the filter"),
        ({"format": "csv"}, "No format called"),
        ({"per_task": "1"}, "need each other"),
        ({"per_task": "-1"}, "Episodes per task is -1: expected a whole number from 0 to 2,147,483,647."),
        ({"per_task": "x" * 100}, "Episodes per task is &#39;xxxx"),
        ({"rows": "٣"}, "Episodes in all is &#39;٣&#39;: expected a whole number from 0 to 2,147,483,647."),
        ({"seed": "1.5"}, "Seed is 1.5: expected a whole number"),
        ({"near_duplicates": "2"}, "Near-duplicates is 2: expected a number from 0 to 1."),
        ({"near_duplicates": "nan"}, "Near-duplicates is nan: expected a number from 0 to 1."),
        ({"dev_share": "1"}, "Share of dev is 1, which leaves no row to train on"),
        ({"mix": "wordmath"}, "Cannot read &#39;wordmath&#39; in Shares"),
        ({"level": "proven"}, "No check level called"),
        ({"formulations": "magic"}, "No formulation called"),
        ({"name": "../up"}, "is not a name for a build"),
        ({"name": HOSTILE}, "is not a name for a build"),
        ({"name": ""}, "is not a name for a build"),
    ],
)
def test_what_a_build_refuses_is_refused_on_the_form_in_the_same_words(explorer, fields, named):
    client = explorer.client()
    answer = client.submit("/builds/new", {"name": "wrong", **OPTIONS, **fields})
    assert answer.status_code == 400 and 'role="alert"' in answer.text
    alert = re.findall(r'role="alert">([^<]*)', answer.text)[0]
    assert named in alert
    assert "<script>document" not in answer.text and "\u202e" not in answer.text
    assert explorer.site.drafts.list() == []


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"where": "benchmark=hotpotqa"}, "no episode matches the filter"),
        ({"against": "nothing:x"}, "No benchmark called"),
        ({"against": "svamp:README.md"}, "README.md"),
        ({"mix": "gsm8k=1"}, "--mix names"),
    ],
)
def test_what_is_found_on_the_way_is_one_line_and_leaves_nothing(explorer, fields, named):
    client = explorer.client()
    draft = client.submit("/builds/new", {"name": "wrong", **OPTIONS, **fields}).headers["location"]
    text = wait_for(client, draft, "failed")
    assert named in re.findall(r'role="alert">([^<]*)', text)[0]
    assert list(explorer.site.settings.home.rglob("*")) == []


def test_a_folder_with_another_build_is_refused(explorer):
    make(explorer, "one")
    client = explorer.client()
    draft = client.submit("/builds/new", {"name": "one", **OPTIONS}).headers["location"]
    assert "holds a build with other options" in wait_for(client, draft, "failed")


def test_how_many_episodes_a_filter_finds_is_counted_up_to_a_bound(explorer, monkeypatch):
    client = explorer.client()
    count = {"where": "benchmark=wordmath"}
    assert f"{ROWS + AGAIN} episodes" in client.get("/builds/new/count", params=count).text
    assert "origin!=derived" in client.get("/builds/new/count", params=count).text
    monkeypatch.setattr("lumos_queue.web.routes.drafts.MAX_COUNT", 7)
    assert "more than 7 episodes" in client.get("/builds/new/count", params=count).text
    assert "No field called" in client.get("/builds/new/count", params={"where": "x=1"}).text


def test_the_list_one_build_and_a_difference(explorer):
    client = explorer.client()
    assert "No build exists yet" in client.get("/builds").text
    make(explorer, "one")
    made = make(explorer, "new", dev_share=0.2, seed=1)
    damaged = explorer.site.settings.home / "builds" / "damaged"
    shutil.copytree(explorer.site.settings.home / "builds" / "one", damaged)
    (damaged / MANIFEST).write_text("{}")
    text = client.get("/builds").text
    assert 'href="/builds/one"' in text and 'href="/builds/named/new"' in text and "Not listed:" in text
    assert made["digest"] in client.get("/builds/named/new").text
    assert "New build" in client.get("/builds/new").text
    page = client.get("/builds/difference?one=one&other=new")
    assert page.status_code == 200 and "<html" in page.text
    part = client.get("/builds/difference?one=one&other=new", headers={"hx-request": "true"}).text
    dev = sum(file["rows"] for file in made["files"] if file["part"] == "dev")
    assert f"Only in one: {dev} rows" in part and "dev_share" in part
    liked = client.get("/builds/new?like=new").text
    assert 'name="dev_share" value="0.2"' in liked and 'name="seed" value="1"' in liked
    (explorer.site.settings.home / "builds" / "one" / made["files"][0]["file"]).write_text("other")
    assert "differs from its manifest" in client.get("/builds/named/one/files").text


def test_a_build_that_is_not_there_is_said_to_be_missing(explorer):
    client = explorer.client()
    for name in ("nothing", "%2e%2e%2fone", "a%27b", "%00", "x" * 5000):
        assert client.get(f"/builds/{name}", follow_redirects=False).status_code in (303, 404), name[:9]
        assert client.get(f"/builds/named/{name}/files").status_code == 404, name[:9]
        params = {"one": name, "other": name}
        assert client.get("/builds/difference", params=params).status_code == 404, name[:9]
        assert client.get(f"/builds/drafts/{name}").status_code == 404, name[:9]


def test_only_operators_prepare_builds_and_their_test_splits_are_fetched_files(stored, tmp_path):
    people = {"rita": Role.READER, "anna": Role.ANNOTATOR, "otto": Role.OPERATOR}
    fetched = tmp_path / "data" / "svamp"
    fetched.mkdir(parents=True)
    (fetched / "SVAMP.json").write_text("[]")
    (tmp_path / "secret.json").write_text("[]")
    with call_explorer(stored, RoleLogin(people), home=tmp_path) as explorer:
        for name in ("rita", "anna"):
            client = explorer.client(name)
            assert client.get("/builds").status_code == 200 and "New build" not in client.get("/builds").text
            assert client.get("/builds/new").status_code == client.get("/builds/new/count").status_code == 403
            assert client.submit("/builds/new", {"name": "x", **OPTIONS}).status_code == 403
        client = explorer.client("otto")
        assert f"svamp:{fetched / 'SVAMP.json'}" in client.get("/builds/new").text
        for path in (tmp_path / "secret.json", f"{fetched}/../../secret.json", "/etc/passwd"):
            answer = client.submit("/builds/new", {"name": "x", **OPTIONS, "against": f"svamp:{path}"})
            assert answer.status_code == 400 and "name a file in" in answer.text, path
        ticked = {"name": "x", **OPTIONS, "fetched": f"svamp:{fetched / 'SVAMP.json'}"}
        draft = client.submit("/builds/new", ticked)
        assert draft.status_code == 303
        assert explorer.client("anna").get(draft.headers["location"]).status_code == 403


def test_a_page_of_a_draft_that_ends_meanwhile_shows_it_as_it_was_and_asks_again(explorer, monkeypatch):
    done, draft = threading.Event(), Draft("slow", BuildOptions(), "ann")
    explorer.site.drafts.add(draft, lambda _: ({}, done.wait(60)))

    def end_draft(name: str) -> str:
        done.set()
        wait_until(lambda: draft.state == "previewed", "the draft is previewed", 60)
        return f"/builds/{name}"

    monkeypatch.setattr("lumos_queue.web.routes.drafts.address_of_build", end_draft)
    part = explorer.client().get(f"/builds/drafts/{draft.id}", headers={"hx-request": "true"}).text
    assert "hx-get" in part and "previewed" not in part


def test_a_draft_is_stopped_and_the_next_one_goes_on(explorer):
    client, done = explorer.client(), threading.Event()
    explorer.site.drafts.add(Draft("first", BuildOptions(), "ann"), lambda _: ({}, done.wait(60)))
    drafts = [client.submit("/builds/new", {"name": f"d{n}", **OPTIONS}).headers["location"] for n in range(3)]
    assert client.submit(drafts[2] + "/stop").status_code == 303
    done.set()
    wait_for(client, drafts[1], "previewed")
    wait_for(client, drafts[2], "stopped")
    assert client.submit(drafts[2] + "/build").status_code == 400
    assert "d2</a> of ann@here: stopped" in client.get("/builds").text

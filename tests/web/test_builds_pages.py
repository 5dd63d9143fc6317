"""Builds: the list, one, the difference of two, and a new one by way of its preview."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from db.connection import Database
from db.web_actions import list_actions
from lumos_queue.builds.folder import MANIFEST
from lumos_queue.builds.options import BuildOptions
from lumos_queue.jobs.convert import Convert
from lumos_queue.submission.build_request import make_build
from lumos_queue.web.access.people import Role
from tests.explorers import Client, Explorer, RoleDoor, serving
from tests.stored import run_embedded
from tests.web.for_everybody import check_for_everybody
from tests.wordmath_rows import training_rows

ROWS, AGAIN = 30, 5  #: of the conversion, and of those converted a second time
OPTIONS = {"where": "benchmark=wordmath", "format": "lumos", "formulations": "iterative"}
HOSTILE = "<script>document.title='run'</script>\u202e"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def stored(request, tmp_path_factory) -> Iterator[Database]:
    """A conversion, and some of its rows converted a second time."""
    folder = tmp_path_factory.mktemp("stored")
    url = "" if request.param == "sqlite" else request.getfixturevalue("postgres_server").fresh()
    rows = training_rows()
    for limit in (ROWS, AGAIN):
        opened, _ = run_embedded(folder, Convert("wordmath", rows.digest, "train", limit=limit), rows, url)
        if limit == ROWS:
            opened.close()
    yield opened
    opened.close()


@pytest.fixture
def explorer(stored, tmp_path) -> Iterator[Explorer]:
    with serving(stored, home=tmp_path) as served:
        yield served


def make(explorer: Explorer, name: str, **options) -> dict:
    """A build as the command makes it."""
    target = explorer.site.settings.home / "builds" / name
    return make_build(explorer.site.database, name, target, BuildOptions(where="origin!=derived", **options))[0]


def wait_for(client: Client, draft: str, state: str) -> str:
    """The draft's page, once it is in that state."""
    until = time.monotonic() + 60
    while (text := client.get(draft).text) and f'class="state {state}"' not in text:
        assert time.monotonic() < until and 'class="state failed"' not in text, text
        time.sleep(0.05)
    return text


def test_a_build_is_previewed_and_made_as_it_was_previewed(explorer):
    client = explorer.client()
    answer = client.submit("/builds/new", {"name": "mine", **OPTIONS, "formulations": ["iterative", "one-pass"]})
    assert answer.status_code == 303, answer.text
    draft = answer.headers["location"]
    shown = wait_for(client, draft, "previewed")
    folder = explorer.site.settings.home / "builds" / "mine"
    assert not folder.exists() and list(explorer.site.settings.home.rglob("*.sqlite")) == []
    assert f"{ROWS} of {ROWS + AGAIN} episodes read" in shown and re.search(r"duplicate</th><td>5<", shown)
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
    assert "All files are as they were made." in client.get("/builds/named/mine/files").text
    with explorer.site.reading() as connection:
        noted = [(one.person, one.action, one.target) for one in list_actions(connection, 1)]
    assert noted == [("ann@here", "build", "mine")]
    again = client.submit("/builds/new", {"name": "mine", **OPTIONS, "formulations": ["iterative", "one-pass"]})
    assert "The same build exists already" in wait_for(client, again.headers["location"], "previewed")
    assert client.submit(draft + "/build").status_code == 400


def test_what_is_in_a_test_split_is_said_and_what_may_stay_too(explorer):
    client = explorer.client()
    against = {**OPTIONS, "against": "wordmath:dev\nwordmath:train"}
    draft = client.submit("/builds/new", {"name": "none", **against}).headers["location"]
    until = time.monotonic() + 60
    while "stands in wordmath:train: equal text" not in (text := client.get(draft).text):
        assert time.monotonic() < until, text
        time.sleep(0.05)
    draft = client.submit("/builds/new", {"name": "all", **against, "allow_contaminated": "true"}).headers["location"]
    shown = wait_for(client, draft, "previewed")
    assert "Tasks that a test split contains are kept." in shown and re.search(r"wordmath:train \([\d,]+ rows\)", shown)


def test_what_changed_since_the_preview_is_not_built(explorer):
    client = explorer.client()
    draft = client.submit("/builds/new", {"name": "moved", **OPTIONS}).headers["location"]
    wait_for(client, draft, "previewed")
    one = explorer.site.drafts.find(draft.rpartition("/")[2])
    assert one is not None and one.manifest is not None
    one.manifest["digest"] = "0" * 64  # as if other episodes had been stored then
    client.submit(draft + "/build")
    until = time.monotonic() + 60
    while "look at a preview again" not in (text := client.get(draft).text):
        assert time.monotonic() < until, text
        time.sleep(0.05)
    assert not (explorer.site.settings.home / "builds").exists()


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"where": "nosuch=1"}, "No field called"),
        ({"where": "score=1; DROP TABLE episode"}, "expected a number"),
        ({"where": "benchmark~'"}, "Cannot read the filter"),
        ({"format": "csv"}, "No format called"),
        ({"per_task": "1"}, "go together"),
        ({"per_task": "-1"}, "--per-task is"),
        ({"rows": "٣"}, "--rows is"),
        ({"near": "2"}, "expected a number from 0 to 1"),
        ({"near": "nan"}, "expected a number from 0 to 1"),
        ({"dev_share": "1"}, "nothing would be left"),
        ({"mix": "wordmath"}, "--mix"),
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
        ({"where": "benchmark=hotpotqa"}, "the filter finds none"),
        ({"against": "nothing:x"}, "No benchmark called"),
        ({"against": "svamp:README.md"}, "README.md"),
        ({"mix": "gsm8k=1"}, "--mix asks for"),
    ],
)
def test_what_is_found_on_the_way_is_one_line_and_leaves_nothing(explorer, fields, named):
    client = explorer.client()
    draft = client.submit("/builds/new", {"name": "wrong", **OPTIONS, **fields}).headers["location"]
    until = time.monotonic() + 60
    while 'role="alert"' not in (text := client.get(draft).text):
        assert time.monotonic() < until, text
        time.sleep(0.05)
    assert named in re.findall(r'role="alert">([^<]*)', text)[0]
    assert list(explorer.site.settings.home.rglob("*")) == []


def test_a_folder_with_another_build_is_refused(explorer):
    make(explorer, "one")
    draft = explorer.client().submit("/builds/new", {"name": "one", **OPTIONS}).headers["location"]
    until = time.monotonic() + 60
    while "holds another build" not in (text := explorer.client().get(draft).text):
        assert time.monotonic() < until, text
        time.sleep(0.05)


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


@pytest.mark.parametrize("name", ["nothing", "%2e%2e%2fone", "a%27b", "%00", "x" * 5000])
def test_a_build_that_is_not_there_is_said_to_be_missing(explorer, name):
    client = explorer.client()
    assert client.get(f"/builds/{name}", follow_redirects=False).status_code in (303, 404)
    assert client.get(f"/builds/named/{name}/files").status_code == 404
    assert client.get("/builds/difference", params={"one": name, "other": name}).status_code == 404
    assert client.get(f"/builds/drafts/{name}").status_code == 404


def test_only_operators_prepare_builds_and_their_test_splits_are_fetched_files(stored, tmp_path):
    people = {"rita": Role.READER, "anna": Role.ANNOTATOR, "otto": Role.OPERATOR}
    fetched = tmp_path / "data" / "svamp"
    fetched.mkdir(parents=True)
    (fetched / "SVAMP.json").write_text("[]")
    (tmp_path / "secret.json").write_text("[]")
    with serving(stored, RoleDoor(people), home=tmp_path) as explorer:
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


def test_a_draft_is_stopped_and_the_next_one_goes_on(explorer):
    client = explorer.client()
    drafts = [client.submit("/builds/new", {"name": f"d{n}", **OPTIONS}).headers["location"] for n in range(3)]
    assert client.submit(drafts[2] + "/stop").status_code == 303
    wait_for(client, drafts[1], "previewed")
    wait_for(client, drafts[2], "stopped")
    assert client.submit(drafts[2] + "/build").status_code == 400
    assert "d2</a> of ann@here: stopped" in client.get("/builds").text


def test_a_person_makes_a_build_by_keyboard(explorer, page):
    page.goto(explorer.login_url)
    page.goto(f"{explorer.url}/builds")
    page.keyboard.press("n")
    page.get_by_label("Name").fill("typed")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("benchmark=wordmath")
    page.get_by_text(f"{ROWS + AGAIN} episodes").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.get_by_text("What it would hold").wait_for()
    page.keyboard.press("b")
    page.get_by_text("It is built").wait_for()
    page.keyboard.press("o")
    page.get_by_text("All files are as they were made.").wait_for()
    assert Path(explorer.site.settings.home / "builds" / "typed" / MANIFEST).is_file()


@pytest.mark.parametrize("stored", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("path", "last"),
    [
        ("/builds", "table"),
        ("/builds/new", "#count:has-text('episodes')"),
        ("/builds/one", "text=All files are as they were made."),
        ("/builds/difference?one=one&other=two", "text=rows are the same"),
        ("draft", "text=What it would hold"),
    ],
)
def test_pages_are_for_everybody(explorer, chromium, path, last):
    make(explorer, "one")
    make(explorer, "two", dev_share=0.2)
    if path == "draft":
        path = explorer.client().submit("/builds/new", {"name": "three", **OPTIONS}).headers["location"]
    check_for_everybody(chromium, explorer, path, last)

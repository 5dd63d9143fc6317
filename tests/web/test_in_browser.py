"""What the scripts of pages do: single keys, pages that follow a job or a database, and messages of parts of a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.engine import make_url

from db.engine.connection import open_database
from db.models import Item, JobRow, Label
from db.queries.episode_names import load_finished_trajectory
from db.queries.filters import parse_where
from db.queries.labels import labels_of, newest_of_audit
from db.review.audits import sample_audit, samples_of
from lumos_queue.builds.folder import MANIFEST
from lumos_queue.scoring.sampling import AuditKind
from lumos_queue.web.access.users import Role
from tests.claims import claim, fail, holder
from tests.explorers import RoleLogin, serve_explorer
from tests.page_jobs import FAILED, RIGHT, WRONG, evaluation
from tests.page_parts import HOSTILE
from tests.scored_jobs import create_scored_job
from tests.tcp_proxy import TcpProxy
from tests.web.conversions import convert_rows


def test_an_open_page_follows_the_job_until_it_ends(served, database, page):
    job = create_scored_job(database, [[1], [0]], pending=1)
    page.goto(served.login_url)
    page.goto(f"{served.url}/jobs/{job}")
    live = page.locator("#live")  # the report below says the same
    live.get_by_text("1 of 2 items").wait_for()
    page.keyboard.press("p")
    page.get_by_text("The job is paused.").wait_for()
    live.get_by_text("paused: by a person").wait_for()
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(state="failed", waiting="no GPU <b>here</b>"))
    live.get_by_text("failed: no GPU <b>here</b>").wait_for()


def test_an_open_page_says_why_items_fail_and_when_they_are_tried_again(served, database, page):
    job = create_scored_job(database, [[1], [0], [1]], pending=2)
    page.goto(served.login_url)
    page.goto(f"{served.url}/jobs/{job}")
    live = page.locator("#live")
    live.get_by_text("no worker is alive").first.wait_for()
    who = holder(database, job)
    fail(database, who, claim(database, who, 2), "no <b>memory</b>\nleft", seconds=9_000)
    live.get_by_text("2 items failed and are tried again: no <b>memory</b> left (next try in 2.5 h)").wait_for()


def test_pages_say_that_the_database_is_gone_and_follow_again(postgres_url, chromium):
    context = chromium.new_context()  # not `page`: parts that cannot be loaded are told on its console
    page = context.new_page()
    page.set_default_timeout(60_000)
    address = make_url(postgres_url)
    direct = open_database(postgres_url)
    job = create_scored_job(direct, [[1], [0], [1]], pending=1)
    socket = str(Path(str(address.query["host"])) / ".s.PGSQL.5432")
    with TcpProxy(socket) as proxy:
        through = address.set(host="127.0.0.1", port=proxy.port, query={})
        database = open_database(through.render_as_string(hide_password=False))
        with serve_explorer(database) as explorer:
            client = explorer.client()
            page.goto(f"{explorer.login_url}&next=/jobs/{job}")
            page.locator("#live").get_by_text("answered 2").wait_for()
            proxy.mode = "drop"
            page.get_by_text("The database does not answer").first.wait_for()
            page.locator("#live").get_by_text("answered 2").wait_for()  # what was known stays
            for path in ("/jobs", f"/jobs/{job}", f"/episodes/{job}-0", "/annotate", "/workers", "/actions"):
                answer = client.get(path)
                assert answer.status_code == 503 and "The database does not answer" in answer.text, path
            proxy.mode = "pass"
            page.get_by_text("The database does not answer").first.wait_for(state="hidden")
            assert client.get(f"/jobs/{job}").status_code == 200
        database.close()
    context.close()
    direct.close()


def test_a_mistake_in_a_part_of_a_page_is_told_as_text(database, chromium):
    create_scored_job(database, [[1], [0]])
    sample_audit(database, "first", parse_where(""), 2, 0, AuditKind.RUNS)
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(60_000)
    login_method = RoleLogin({"anna": Role.ANNOTATOR})
    with serve_explorer(database, login_method) as explorer:
        page.goto(f"{explorer.url}/login?next=/annotate/first")
        page.fill("#name", "anna")
        page.fill("#secret", "any")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Place 1").wait_for()
        login_method.people["anna"] = Role.READER
        page.keyboard.press("1")
        page.get_by_role("alert").get_by_text("anna is reader: this needs the role annotator.").wait_for()
    with database.engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(Label)).scalar_one() == 0
    context.close()


def test_a_person_labels_by_keyboard_alone(served, database, page):
    create_scored_job(database, [[1], [0], [1], [0]])
    sample_audit(database, "first", parse_where(""), 4, 0, AuditKind.RUNS)
    page.goto(served.login_url)
    page.goto(f"{served.url}/annotate")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Place 1").wait_for()
    page.keyboard.press("1")
    page.get_by_role("heading", name="Place 2").wait_for()
    assert re.fullmatch(r"Place 1: right; accuracy says (right|wrong)\.", page.locator("#stored").inner_text())
    page.keyboard.press("n")
    page.keyboard.type("it adds 3")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.get_by_role("heading", name="Place 3").wait_for()
    page.keyboard.press("u")
    page.get_by_role("heading", name="Place 2").wait_for()
    page.keyboard.press("3")
    page.get_by_role("heading", name="Place 3").wait_for()
    page.keyboard.press("s")
    page.get_by_role("heading", name="Place 4").wait_for()
    page.keyboard.press("1")
    page.get_by_text("you skipped it before").wait_for()
    assert _labels_of_audit(database) == [(1, "right"), (2, "unsure"), (4, "right")]
    page.keyboard.press("?")
    page.get_by_text("take back your last label").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.get_by_role("heading", name="Nothing is left for you").wait_for()
    page.keyboard.press("l")
    page.get_by_role("heading", name="Labels of first").wait_for()
    page.get_by_role("heading", name="People").wait_for()


def _labels_of_audit(database) -> list[tuple[int, str]]:
    """(place, label) of each label of the audit."""
    with database.engine.connect() as connection:
        places = {sample.episode: sample.number for sample in samples_of(connection, "first")}
        return sorted(
            (places[episode], label.value) for (episode, _), label in newest_of_audit(connection, "first").items()
        )


def test_episodes_are_gone_through_and_labelled_by_single_keys(served, database, page):
    job = evaluation(database, [WRONG, WRONG, FAILED, RIGHT], "\n".join(HOSTILE))

    def press(key: str, name: str) -> None:
        """And wait for the page of that name."""
        page.keyboard.press(key)
        page.wait_for_function("name => document.title.startsWith(name)", arg=name)
        page.wait_for_load_state()

    page.goto(served.login_url)
    page.goto(f"{served.url}/jobs/{job}/episodes?where=score<1")
    page.get_by_role("link", name=f"{job}-0").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("j")
    press("Enter", f"{job}-1 ")
    press("k", f"{job}-0 ")
    page.keyboard.press("2")
    page.get_by_text(f"{job}-0 is labelled wrong.").wait_for()
    press("j", f"{job}-1 ")
    page.keyboard.press("1")
    page.get_by_text(f"{job}-1 is labelled right.").wait_for()
    page.keyboard.press("u")
    page.get_by_text(f"Your label right of {job}-1 is taken back.").wait_for()
    page.keyboard.press("3")
    page.get_by_text(f"{job}-1 is labelled unsure.").wait_for()
    press("s", f"{job}-2 ")
    page.keyboard.press("?")
    keys = page.locator("#help-keys").inner_text().split("\n")
    assert {"j", "k", "w", "e", "1", "2", "3", "s", "n", "b", "?"} <= set(keys)
    page.keyboard.press("Escape")
    # The filter is gone on under: the fourth one is right, and there is no other.
    page.keyboard.press("j")
    page.get_by_text("There is no episode after this one").wait_for()
    press("b", "Episodes ")
    assert _labels_of_job(database, job) == [(0, "wrong"), (1, "unsure")]


def _labels_of_job(database, job: str) -> list[tuple[int, str]]:
    """(number of the episode, label) of each label of the job."""
    with database.engine.connect() as connection:
        items = connection.execute(select(Item.ordinal, Item.id).where(Item.job == job).order_by(Item.ordinal)).all()
        return [(number, row.value) for number, key in items for row in labels_of(connection, key)]


@pytest.fixture
def converted(tmp_path):
    """An explorer of six converted episodes, and their job; the first is 3 * 25 = 75, 75 - 9 = 66, 66 / 6 = 11."""
    database, job = convert_rows(tmp_path, 6)
    with serve_explorer(database, home=tmp_path) as explorer:
        yield explorer, job
    database.close()


def test_the_wrong_step_and_the_kind_of_fault_are_named_by_keyboard_alone(converted, page):
    explorer, _ = converted
    sample_audit(explorer.site.database, "first", parse_where(""), 3, 0)
    page.goto(explorer.login_url)
    page.goto(f"{explorer.url}/annotate/first")
    page.get_by_role("heading", name="Place 1").wait_for()
    page.keyboard.press("5")
    page.keyboard.press("t")
    page.keyboard.type("1-1")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.get_by_role("heading", name="Place 2").wait_for()
    assert page.locator("#stored").inner_text().startswith("Place 1: wrong (step 1-1, number)")
    page.keyboard.press("4")
    page.keyboard.press("0")
    page.keyboard.press("1")
    page.get_by_role("heading", name="Place 3").wait_for()
    page.keyboard.press("8")
    page.keyboard.press("2")
    page.get_by_role("heading", name="Nothing is left for you").wait_for()
    with explorer.site.database.engine.connect() as connection:
        places = {sample.episode: sample.number for sample in samples_of(connection, "first")}
        labels = newest_of_audit(connection, "first")
    kinds = {places[episode]: (label.value, label.wrong_kind) for (episode, _), label in labels.items()}
    assert kinds == {1: ("wrong", "number"), 2: ("right", ""), 3: ("wrong", "wording")}


def test_a_right_annotation_with_a_kind_of_fault_is_refused_and_nothing_is_lost(tmp_path, chromium):
    database, _ = convert_rows(tmp_path, 6)
    sample_audit(database, "first", parse_where(""), 3, 0)
    context = chromium.new_context()  # not `page`: the refusal is told on its console
    page = context.new_page()
    page.set_default_timeout(60_000)
    with serve_explorer(database, home=tmp_path) as explorer:
        page.goto(explorer.login_url)
        page.goto(f"{explorer.url}/annotate/first")
        page.get_by_role("heading", name="Place 1").wait_for()
        page.keyboard.press("8")
        page.keyboard.press("1")
        page.get_by_role("alert").get_by_text("Only the label wrong names a step or a kind of fault").wait_for()
        page.keyboard.press("2")
        page.get_by_role("heading", name="Place 2").wait_for()
    assert [value for _, value in _labels_of_audit(database)] == ["wrong"]
    context.close()
    database.close()


def test_an_episode_is_opened_corrected_and_stored_by_keyboard_alone(converted, page):
    explorer, job = converted
    page.goto(explorer.login_url)
    page.goto(f"{explorer.url}/jobs/{job}/episodes")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Lanes").wait_for()
    page.keyboard.press("e")
    page.get_by_label("Annotation").wait_for()
    # The editor has the focus: the last number of the last line becomes another one.
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.press("Control+End")
    for _ in range(len("6) = 11")):
        page.keyboard.press("Backspace")
    page.keyboard.type("3)")
    page.keyboard.press("Control+Enter")
    page.get_by_role("heading", name="Result of the changes").wait_for()
    page.keyboard.press("Enter")  # the button to store has the focus
    page.get_by_text("The correction is stored as").wait_for()
    with explorer.site.reading() as connection:
        correction = connection.execute(select(JobRow.id).where(JobRow.kind == "correct")).scalar_one()
        assert load_finished_trajectory(connection, f"{correction}-0").episode.answer == "22"


def test_a_person_makes_a_build_by_keyboard(converted, page):
    explorer, _ = converted
    page.goto(explorer.login_url)
    page.goto(f"{explorer.url}/builds")
    page.keyboard.press("n")
    page.get_by_label("Name").fill("typed")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("benchmark=wordmath")
    page.get_by_text("6 episodes").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.get_by_text("What it would hold").wait_for()
    page.keyboard.press("b")
    page.get_by_text("It is built").wait_for()
    page.keyboard.press("o")
    page.get_by_text("All files are unchanged.").wait_for()
    assert Path(explorer.site.settings.home / "builds" / "typed" / MANIFEST).is_file()

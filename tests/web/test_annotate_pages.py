"""Drawing an audit, labelling, all labels, and files of other programs."""

from __future__ import annotations

import json
import re

import pytest
from sqlalchemy import select, update

from db.models import Audit, Label, Reservation
from db.queries.filters import parse_where
from db.queries.labels import newest_of_audit
from db.queries.web_actions import list_actions
from db.review.audits import sample_audit, samples_of
from db.review.labels import NewLabel, add_labels
from lumos_queue.scoring.sampling import AuditKind
from lumos_queue.web.access.users import Role
from tests.scored_jobs import create_scored_job
from tests.web.conversions import convert_rows

NAME = "two words & <script>document.title='run'<b>%2e?#"
HOSTILE = "<script>document.title='run'</script>\u202e \x1b[31m"


@pytest.fixture
def audit(database) -> str:
    """Of six runs, three of them right by the metric and one ended by infrastructure beside them."""
    draw(database)
    return "first"


def draw(database, name: str = "first", twice: float = 0.0, size: int = 6) -> None:
    create_scored_job(database, [*([one % 2] for one in range(size)), [None]], digest=f"{abs(hash(name)):064x}"[:64])
    sample_audit(database, name, parse_where(""), size, 0, AuditKind.RUNS, twice)


def given(database, audit: str = "first") -> list[tuple[int, str, str, str]]:
    """(place, person, label, note): the newest of each."""
    with database.engine.connect() as connection:
        places = {one.episode: one.number for one in samples_of(connection, audit)}
        found = newest_of_audit(connection, audit)
    return sorted((places[episode], who, *said[:2]) for (episode, who), said in found.items())


def form_of(text: str) -> dict[str, str]:
    """What the form of a place brings back."""
    return {name: re.findall(rf'name="{name}" value="([^"]*)"', text)[0] for name in ("place", "reservation")}


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_labelling_works_without_scripts_and_says_the_metric_only_afterwards(many, database, audit):
    client = many.client("anna")
    page = client.get(f"/annotate/{audit}").text
    form = form_of(page)
    assert "accuracy" not in page and "says" not in re.sub(r"data-says", "", page)
    answer = client.submit(f"/annotate/{audit}/label", form | {"value": "unsure", "note": HOSTILE})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/annotate/{audit}")
    page = client.get(answer.headers["location"]).text
    assert re.search(r"Place 1: unsure; accuracy says (right|wrong)\.", page)
    assert form_of(page)["place"] == "2"
    assert given(database) == [(1, "anna", "unsure", HOSTILE.strip())]
    again = client.submit(f"/annotate/{audit}/label", form | {"value": "wrong"})
    assert again.status_code == 303
    assert "You have labelled place 1 already." in client.get(f"/annotate/{audit}").text
    assert client.submit(f"/annotate/{audit}/undo").status_code == 303
    assert "Place 1: the label &#39;unsure&#39; is taken back." in client.get(f"/annotate/{audit}").text
    assert given(database) == []


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_wrong_annotation_is_labelled_with_its_step_and_kind(explorer, database, tmp_path):
    opened, _ = convert_rows(tmp_path, 3, url=database.url.replace("+psycopg", ""))
    opened.close()
    sample_audit(database, "first", parse_where(""), 3, 0)
    client = explorer.client()
    page = client.get("/annotate/first").text
    steps = re.findall(r'<option value="([^"]+)">', page)
    assert steps[:2] == ["1", "1-1"] and "Calculator(" in page
    assert re.findall(r'name="kind" value="([^"]*)" data-key="(\d)"', page) == [
        *[("", "0"), ("link", "4"), ("number", "5"), ("sub-question", "6"), ("result", "7"), ("wording", "8")]
    ]
    form = form_of(page)
    for fault, message in (
        ({"value": "right", "kind": "link"}, "Only the label wrong names"),
        ({"value": "unsure", "step": "1"}, "Only the label wrong names"),
        ({"value": "wrong", "kind": HOSTILE[:90]}, "No kind of fault called"),
        ({"value": "wrong", "step": "9-9"}, "The episode has no subgoal 9"),
        ({"value": "wrong", "step": "<b>"}, "names no step"),
    ):
        answer = client.submit("/annotate/first/label", form | fault)
        assert answer.status_code == 400 and message in answer.text and "<b>" not in answer.text, fault
    assert given(database) == []
    client.submit("/annotate/first/label", form | {"value": "wrong", "step": "1-1", "kind": "sub-question"})
    assert "Place 1: wrong (step 1-1, sub-question)" in client.get("/annotate/first").text
    with database.engine.connect() as connection:
        (label,) = newest_of_audit(connection, "first").values()
        name = samples_of(connection, "first")[0].name
    assert (label.value, label.wrong_position, label.wrong_kind) == ("wrong", 1, "sub-question")
    assert "wrong</span> (step 1-1, sub-question)" in client.get("/annotate/first/labels").text
    assert "sub-question 1" in client.get("/annotate/first/report").text
    assert "(wrong step 1-1) (sub-question)" in client.get(f"/episodes/{name}").text
    client.submit("/annotate/first/undo")
    assert given(database) == []


def test_a_script_gets_the_next_place_as_a_part_of_the_page(many, audit):
    client = many.client("anna")
    form = form_of(client.get(f"/annotate/{audit}").text)
    part = client.submit(f"/annotate/{audit}/label", form | {"value": "right"}, headers={"hx-request": "true"})
    assert part.status_code == 200 and "<html" not in part.text
    assert form_of(part.text)["place"] == "2"
    assert "accuracy says" in part.text
    stale = client.submit(f"/annotate/{audit}/label", form | {"value": "right"}, headers={"hx-request": "true"})
    assert stale.status_code == 200 and "You have labelled place 1 already." in stale.text


def test_two_people_see_different_places_and_a_stale_form_of_one_is_refused(many, database, audit):
    anna, otto = many.client("anna"), many.client("otto")
    late = form_of(anna.get(f"/annotate/{audit}").text)
    assert form_of(otto.get(f"/annotate/{audit}").text)["place"] != late["place"]
    with database.writer.begin() as connection:
        connection.execute(update(Reservation).where(Reservation.person == "anna").values(expires_at=1.0))
    otto.submit(f"/annotate/{audit}/skip", form_of(otto.get(f"/annotate/{audit}").text))
    taken = form_of(otto.get(f"/annotate/{audit}").text)
    assert taken["place"] == late["place"]
    anna.submit(f"/annotate/{audit}/label", late | {"value": "right"})
    assert "is not reserved for you any more" in anna.get(f"/annotate/{audit}").text
    otto.submit(f"/annotate/{audit}/label", taken | {"value": "wrong"})
    assert given(database) == [(int(taken["place"]), "otto", "wrong", "")]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_labels_of_others_are_not_shown_before_the_own_label(many, database):
    draw(database, twice=1.0)
    anna, otto, rita = (many.client(name) for name in ("anna", "otto", "rita"))
    form = form_of(otto.get("/annotate/first").text)
    otto.submit("/annotate/first/label", form | {"value": "wrong", "note": "the price"})
    for client, is_shown in ((anna, False), (otto, True), (rita, True)):
        text = client.get("/annotate/first/labels").text
        assert ("the price" in text) is is_shown
        assert ("visible after you have labelled it" in text) is not is_shown
    assert "the price" not in anna.get("/annotate/first").text
    while 'name="reservation"' in (text := anna.get("/annotate/first").text):
        anna.submit("/annotate/first/label", form_of(text) | {"value": "right"})
    assert "the price" in anna.get("/annotate/first/labels").text
    report = anna.get("/annotate/first/report", headers={"hx-request": "true"}).text
    assert "anna and otto" in report and "Progress by person" in report and "the metric agrees" in report


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_an_operator_counts_and_draws_and_what_is_wrong_is_one_line(many, database):
    create_scored_job(database, [[1], [0], [1], [None]])
    client = many.client("otto")
    assert "3 episodes answer" in client.get("/annotate/new/count", params={"kind": "runs"}).text
    assert "No episode matches" in client.get("/annotate/new/count", params={"kind": "annotations"}).text
    page = client.get("/annotate/new", params={"kind": "runs", "where": "score=1"}).text
    assert "/annotate/new/count?where=score%3D1&amp;kind=runs" in page
    form = {"name": NAME, "kind": "runs", "where": "", "size": "2", "twice": "0.5", "seed": "7"}
    answer = client.submit("/annotate/new", form)
    assert answer.status_code == 303, answer.text
    assert "The audit has 2 places." in client.get(answer.headers["location"]).text
    assert NAME[:9] in client.get("/annotate").text and "<script>document" not in client.get("/annotate").text
    with database.engine.connect() as connection:
        audit = connection.execute(select(Audit.__table__)).one()
        (noted,) = list_actions(connection, 10)
    assert (audit.name, audit.kind, audit.twice, audit.population, audit.seed) == (NAME, "runs", 0.5, 3, 7)
    assert (noted.action, noted.target) == ("draw audit", NAME)
    for wrong, told in (
        ({}, "exists already"),
        ({"name": "new"}, "is not a name for an audit"),
        ({"name": "a/b"}, "without a slash"),
        ({"name": "\0"}, "is not a name"),
        ({"where": "colour=red", "name": "b"}, "colour"),
        ({"kind": "planets", "name": "b"}, "planets"),
        ({"where": "score=0.5", "name": "b"}, "No run matches"),
        ({"kind": "annotations", "name": "b"}, "No accepted annotation matches"),
    ):
        answer = client.submit("/annotate/new", form | wrong)
        assert answer.status_code == 400 and 'role="alert"' in answer.text and told in answer.text, wrong
    for wrong in ({"size": "0"}, {"size": "x"}, {"twice": "1.1"}, {"twice": "nan"}, {"seed": str(2**80)}):
        assert client.submit("/annotate/new", form | {"name": "b"} | wrong).status_code == 400, wrong


def test_who_may_do_what(many, database, audit):
    rita, anna = many.client("rita"), many.client("anna")
    form = form_of(anna.get(f"/annotate/{audit}").text) | {"value": "right"}
    assert rita.get("/annotate").status_code == rita.get(f"/annotate/{audit}/labels").status_code == 200
    assert rita.get(f"/annotate/{audit}").status_code == 403
    for path in ("label", "skip", "undo", "labels"):
        assert rita.submit(f"/annotate/{audit}/{path}", form).status_code == 403, path
    assert anna.get("/annotate/new").status_code == anna.submit("/annotate/new", {"name": "b"}).status_code == 403
    assert anna.get(f"/annotate/{audit}/export").status_code == 403  # it has the labels of others
    many.site.login_method.people["anna"] = Role.READER
    assert anna.submit(f"/annotate/{audit}/label", form).status_code == 403
    del many.site.login_method.people["anna"]
    assert anna.post(f"/annotate/{audit}/label", data=form, headers={"hx-request": "true"}).status_code == 401
    assert given(database) == []


def test_an_audit_that_is_not_there_is_not_found(explorer):
    client = explorer.client()
    for name in ("none", "%00", "%2e%2e", "a%27b", "x" * 5000):
        for path in ("", "/labels", "/report", "/export"):
            assert client.get(f"/annotate/{name}{path}").status_code == 404, (name[:9], path)
        for path in ("/label", "/skip", "/undo"):
            posted = client.submit(f"/annotate/{name}{path}", {"place": "1", "reservation": "x", "value": "right"})
            assert posted.status_code == 404, (name[:9], path)


def test_bad_forms_are_refused(explorer, database, audit):
    client = explorer.client()
    form = form_of(client.get(f"/annotate/{audit}").text)
    for wrong in ({"value": "maybe"}, {"value": ""}, {"place": "0"}, {"place": str(2**70)}, {"note": "x" * 4_001}):
        answer = client.submit(f"/annotate/{audit}/label", form | {"value": "right"} | wrong)
        assert answer.status_code == 400, wrong
    client.submit(f"/annotate/{audit}/label", form | {"value": "right", "note": "a\0b"})
    assert given(database) == [(1, "ann@here", "right", "a\N{REPLACEMENT CHARACTER}b")]


@pytest.mark.parametrize(
    ("database", "form"), [("sqlite", "label-studio"), ("postgresql", "argilla")], indirect=["database"]
)
def test_labels_go_to_other_programs_and_come_back(explorer, database, form):
    draw(database, twice=0.5)
    sample_audit(database, "second", parse_where(""), 6, 0, AuditKind.RUNS)
    with database.engine.connect() as connection:
        samples = samples_of(connection, "first")
    labels = [NewLabel(one.episode, "right", "ann", HOSTILE, audit="first") for one in samples[:4]]
    labels += [NewLabel(one.episode, "wrong", "bob <b>", "two\nlines", audit="first") for one in samples[2:5]]
    add_labels(database, labels)
    before = given(database)
    with database.engine.connect() as connection:
        samples = samples_of(connection, "first")
    client = explorer.client()
    answer = client.get("/annotate/first/export", params={"format": form})
    rows = json.loads(answer.text)
    assert len(rows) == 6 and "attachment" in answer.headers["content-disposition"]
    told = [bool(row["predictions" if form == "label-studio" else "suggestions"]) for row in rows]
    assert told == [not one.labels_left for one in samples]  # a suggestion only where nobody will label any more
    again = client.submit("/annotate/first/labels", files={"file": ("a.json", answer.content)})
    assert again.status_code == 303, again.text
    assert "has no new label" in client.get("/annotate/first/labels").text
    with database.writer.begin() as connection:
        connection.execute(Label.__table__.delete())
    assert client.submit("/annotate/first/labels", files={"file": ("a.json", answer.content)}).status_code == 303
    assert "7 labels are stored." in client.get("/annotate/first/labels").text
    assert given(database) == before
    other = client.submit("/annotate/second/labels", files={"file": ("a.json", answer.content)})
    assert other.status_code == 400 and "is another audit than" in other.text
    assert client.get("/annotate/first/export", params={"format": "excel"}).status_code == 400


def test_a_file_with_one_bad_row_is_not_stored_at_all(explorer, database, audit):
    client = explorer.client()
    with database.engine.connect() as connection:
        name = samples_of(connection, audit)[0].name
    by = {"completed_by": {"email": "a@b"}}
    good = {"data": {"episode": name}, "annotations": [{"result": [choice("right")], **by}]}
    for bad, told in (
        ({"data": {"episode": "other-1"}, "annotations": good["annotations"]}, "row 2, field &#39;episode&#39;"),
        ({"data": {"episode": name}, "annotations": [{"result": [choice("maybe")]}]}, "&#39;maybe&#39;: expected"),
        ({"data": {"episode": name}, "annotations": [{"result": [choice("right", "wrong")]}]}, "has 2 choices"),
        ({"data": {"episode": name}, "annotations": {"result": []}}, "is not a list of objects"),
        ({"data": {"episode": name}, "annotations": [{"result": [choice(7)]}]}, "no list of texts"),
        ({"data": {}, "annotations": good["annotations"]}, "give either a place or an episode"),
        ({"id": name, "responses": {"label": [{"user_id": "u"}]}}, "is not a list of objects that have a value"),
        ({"id": name, "responses": {"label": [{"value": ["right"], "user_id": "u"}]}}, "is not text"),
        ({"responses": {"label": [{"value": "right", "user_id": "u"}]}}, "field &#39;episode&#39;"),
        ({"id": name, "responses": {"label": [{"value": "right", "user_id": "u" * 300}]}}, "name of a labeller"),
        ({"rows": []}, "is neither a task of Label Studio"),
        (["<script>"], "is not a JSON object"),
    ):
        content = json.dumps([good, bad]).encode()
        answer = client.submit(f"/annotate/{audit}/labels", files={"file": (HOSTILE, content)})
        assert answer.status_code == 400 and told in answer.text, (told, answer.text)
        assert "<script>document" not in answer.text
    for content in (b"\xff", b"[" * 100_000, b'{"place": 99, "label": "right"}', b"x" * 16_000_001):
        answer = client.submit(f"/annotate/{audit}/labels", files={"file": ("a.json", content)})
        assert answer.status_code == 400 and 'role="alert"' in answer.text
    assert client.submit(f"/annotate/{audit}/labels", {"file": "text"}).status_code == 400
    assert given(database) == []
    assert client.submit(f"/annotate/{audit}/labels", files={"file": ("a", json.dumps([good]))}).status_code == 303
    assert given(database) == [(1, "a@b", "right", "")]


def choice(*values) -> dict:
    return {"from_name": "label", "to_name": "x", "type": "choices", "value": {"choices": list(values)}}


def test_what_other_programs_leave_open_is_no_label(explorer, database, audit):
    with database.engine.connect() as connection:
        one, two, *_ = samples_of(connection, audit)
    rows = [
        {
            "data": {"place": 1},
            "annotations": [
                {"result": [choice("right")], "was_cancelled": True},
                {"result": []},
                {"result": [choice("wrong")], "completed_by": 7},
            ],
        },
        {"data": {"episode": one.name}},
        {
            "id": two.name,
            "fields": {},
            "responses": {
                "label": [
                    {"value": "right", "user_id": "u", "status": "discarded"},
                    {"value": "unsure", "user_id": "v"},
                ],
                "note": [{"value": "why", "user_id": "v"}],
            },
        },
        {"id": two.name, "fields": {}, "responses": {}, "suggestions": {"label": {"value": "right"}}},
    ]
    client = explorer.client()
    assert client.submit(f"/annotate/{audit}/labels", files={"file": ("a", json.dumps(rows))}).status_code == 303
    assert given(database) == [(1, "label-studio user 7", "wrong", ""), (2, "argilla user v", "unsure", "why")]

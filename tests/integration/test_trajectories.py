"""Finding episodes by filters, streaming them, and what the views hold: the same on both databases."""

import json
import re
from pathlib import Path

import pytest
from sqlalchemy import func, inspect, select, text

import db.queries.trajectories
from db.engine.connection import open_database
from db.engine.snapshot import reading
from db.journal.text_blocks import insert_texts
from db.models import EpisodeRow, TextBlock
from db.queries.filters import FIELDS, parse_where
from db.queries.trajectories import StoredEpisode, find_episodes, load_episodes, stream_episodes
from lumos_queue.api.episodes import episodes
from lumos_queue.errors import DatabaseUnavailable
from lumos_queue.records import Completion, Execution, Subgoal
from lumos_queue.settings import Settings
from performance import million
from performance.million import JOBS, make_store

PER_JOB = 25
QUOKKA = 'the quokka\'s 50%_of "all"'  # of which a careless query would make something else


@pytest.fixture(scope="module", autouse=True)
def few_pages():
    """Long results of a store: two thousand take a second of CPU time to write."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(million, "PAGES", 20)
        yield


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request, tmp_path_factory):
    """A store of 200 episodes with what else can happen to one; tests only read it."""
    if request.param == "sqlite":
        found = f"sqlite:///{tmp_path_factory.mktemp('stored') / 'lumos.db'}"
    else:
        found = request.getfixturevalue("postgres_server").fresh()
    database = open_database(found)
    make_store(database, PER_JOB)
    with database.writer.begin() as connection:
        insert_texts(connection, {"long": "Once upon a time " * 200 + QUOKKA})
        for statement in (
            "UPDATE execution SET result = '', result_block = 'long' WHERE episode = 90 AND position = 3",
            "UPDATE subgoal SET text = :quokka WHERE episode = 4 AND position = 2",
            "UPDATE episode SET answer = :quokka WHERE id = 11",
            "UPDATE execution SET arguments = :quokka WHERE episode = 120 AND position = 4",
            "UPDATE completion SET reply = :quokka WHERE episode = 101 AND position = 0",
            "UPDATE task SET question = :quokka WHERE id = (SELECT task FROM episode WHERE id = 160)",
            # Abandoned: nothing of it counts.
            "INSERT INTO attempt SELECT episode, 2, code_version, started_at FROM attempt WHERE episode = 80",
            "UPDATE subgoal SET text = :quokka, attempt = 2 WHERE episode = 80",
            "UPDATE execution SET attempt = 2, name = 'Abandoned', status = 'abandoned' WHERE episode = 80",
            # Not finished: it is not there.
            "UPDATE episode SET ending = '', answer = :quokka, finished_at = NULL WHERE id = 81",
            # Judged again by a newer scorer, and by an older one.
            "INSERT INTO score (episode, metric, version, value, detail) "
            "SELECT episode, metric, '2', 0.25, '' FROM score WHERE episode IN (1, 2, 76, 77)",
            "INSERT INTO score (episode, metric, version, value, detail) "
            "SELECT episode, metric, '0', 0.75, '' FROM score WHERE episode IN (3, 78)",
            # Of the tasks tried five times one is never solved and another always.
            "UPDATE score SET value = 0 WHERE metric = 'accuracy' AND episode IN (SELECT id FROM episode "
            "WHERE task = (SELECT min(task) FROM episode WHERE job = 'aaaaaaa7') AND job = 'aaaaaaa7')",
            "UPDATE score SET value = 1 WHERE metric = 'accuracy' AND episode IN (SELECT id FROM episode "
            "WHERE task = (SELECT max(task) FROM episode WHERE job = 'aaaaaaa7') AND job = 'aaaaaaa7')",
            # What optimizer steps learnt from: the episodes of other jobs.
            *(
                "INSERT INTO feedback_step (job, fit, step, item, rollouts, episodes, reward, baseline, feasible, "
                f"entropy, kl, epsilon) SELECT job, '', {step}, id, '{rollouts}', {step}, 0.5, 0.25, NULL, 2.0, "
                f"{step}.5, 0.2 FROM item WHERE id = {step}"
                for step, rollouts in ((1, "aaaaaaa7"), (2, "aaaaaaa4"))
            ),
            "UPDATE episode SET ending = 'infra_error', message = 'tgi://one:1 answered 422' WHERE id = 24",
            "UPDATE episode SET ending = 'infra_error', message = 'the server is gone' WHERE id = 25",
            "INSERT INTO label (episode, value, note, labeller, labelled_at) VALUES (1, 'unsure', '', 'somebody', 0)",
            "INSERT INTO label (episode, value, note, labeller, labelled_at) VALUES (3, '10', '', 'somebody', 0), "
            "(4, '2', '', 'somebody', 0)",
            "INSERT INTO label (episode, position, branch, value, note, labeller, labelled_at) "
            "VALUES (5, 1, 0, 'right', '', 'somebody', 0), (6, NULL, NULL, 'right', '', 'somebody', 0)",
            "UPDATE job SET name = 'First try' WHERE id = 'aaaaaaa5'",
            """UPDATE task SET gold = '{"answer"\\: "7", "meta"\\: {"topic"\\: "algebra", "year"\\: 1999}}' """
            "WHERE id = (SELECT task FROM episode WHERE id = 30)",
            "INSERT INTO job_tag (job, key, value) VALUES ('aaaaaaa5', 'team', 'maths'), ('aaaaaaa7', 'team', 'qa'), "
            "('aaaaaaa7', 'run', 'maths')",
        ):
            connection.execute(text(statement), {"quokka": QUOKKA} if ":quokka" in statement else {})
    database.close()
    return found


@pytest.fixture(scope="module")
def database(url):
    opened = open_database(url)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def everything(database) -> list[StoredEpisode]:
    """What a stream without any filter gives."""
    return list(stream_episodes(database, parse_where("")))


def score(episode: StoredEpisode):
    return episode.scores.get("accuracy", episode.scores.get("executed"))


def results(episode: StoredEpisode) -> list[Execution]:
    return [step.result for step in episode.steps if isinstance(step.result, Execution)]


def actions(episode: StoredEpisode) -> set[str]:
    return {step.detail.name for step in episode.steps if isinstance(step.result, Execution)}


def subgoals(episode: StoredEpisode) -> list[str]:
    return [step.detail.text for step in episode.steps if isinstance(step.detail, Subgoal)]


def says(episode: StoredEpisode, wanted: str) -> bool:
    replies = [step.result.text for step in episode.steps if isinstance(step.result, Completion)]
    arguments = [step.detail.arguments for step in episode.steps if isinstance(step.result, Execution)]
    texts = [
        episode.task.question,
        episode.answer or "",
        *subgoals(episode),
        *replies,
        *arguments,
        *(done.result for done in results(episode)),
    ]
    return any(wanted in one for one in texts)


def rejected(episode: StoredEpisode) -> bool:
    return any(verdict.rejects for verdict in episode.verdicts)


#: Each filter with the same said in Python, of what a stream without any filter gives.
CASES = {
    "": lambda e: True,
    "job=aaaaaaa5": lambda e: e.job == "aaaaaaa5",
    "job!=aaaaaaa5": lambda e: e.job != "aaaaaaa5",
    "job~a7": lambda e: "a7" in e.job,
    "benchmark=gsm8k": lambda e: e.task.benchmark == "gsm8k",
    "benchmark~qa": lambda e: "qa" in e.task.benchmark,
    'name="First try"': lambda e: e.job == "aaaaaaa5",
    "name~first": lambda e: e.job == "aaaaaaa5",
    'name!="First try"': lambda e: e.job != "aaaaaaa5",
    "tag.team=maths": lambda e: e.job == "aaaaaaa5",
    "tag.team!=maths": lambda e: e.job != "aaaaaaa5",
    "tag.team~q": lambda e: e.job == "aaaaaaa7",
    'tag.team~""': lambda e: e.job in ("aaaaaaa5", "aaaaaaa7"),
    "kind=infer": lambda e: e.job in ("aaaaaaa8", "aaaaaaa9"),
    "project=default split=train licence=MIT": lambda e: True,
    "formulation!=iterative": lambda e: e.formulation != "iterative",
    "origin=converted": lambda e: e.origin == "converted",
    "ending=limit": lambda e: e.ending == "limit",
    "ending!=answered": lambda e: e.ending != "answered",
    "ending~answer": lambda e: "answer" in e.ending,
    "score=1": lambda e: score(e) == 1,
    "score!=1": lambda e: score(e) is not None and score(e) != 1,
    "score<0.5 score>0": lambda e: score(e) == 0.25,
    "metric:strict=0.25": lambda e: e.scores.get("strict") == 0.25,
    "metric:executed>=0.25": lambda e: e.scores.get("executed", 0) >= 0.25,
    "metric:strict<=0": lambda e: e.scores.get("strict", 1) <= 0,
    "subgoals=2": lambda e: len(subgoals(e)) == 2,
    "subgoals<1": lambda e: not subgoals(e),
    "calls>=9": lambda e: e.totals.calls >= 9,
    "sample=4": lambda e: e.sample == 4,
    "sample<99999999999999999999": lambda e: True,
    "level=executed": lambda e: e.level == "executed",
    "level>=oracle_tool": lambda e: e.level in ("oracle_tool", "executed", "perturbed"),
    "level<format": lambda e: e.level == "",
    "level!=executed": lambda e: e.level != "executed",
    "action=SolveEquation": lambda e: "SolveEquation" in actions(e),
    "action!=SolveEquation": lambda e: "SolveEquation" not in actions(e),
    "action~Equation": lambda e: any("Equation" in name for name in actions(e)),
    "error=undefined": lambda e: any(done.status == "undefined" for done in results(e)),
    'error~""': lambda e: any(done.status != "ok" for done in results(e)),
    "failure=refused": lambda e: e.ending == "infra_error" and e.message.startswith("tgi"),
    "failure!=refused": lambda e: not (e.ending == "infra_error" and e.message.startswith("tgi")),
    "error!=undefined": lambda e: all(done.status != "undefined" for done in results(e)),
    'verdict="ambiguous link"': lambda e: any(one.name == "ambiguous link" for one in e.verdicts),
    "verdict~answer": lambda e: any("answer" in one.name for one in e.verdicts),
    "verdict=accepted": lambda e: not rejected(e),
    "verdict!=accepted": rejected,
    "model=tgi://10.0.0.5:8080": lambda e: "tgi://10.0.0.5:8080" in e.endpoints.values(),
    "model=lumos-planner-7b job!=aaaaaaa7": lambda e: bool(e.endpoints) and e.job != "aaaaaaa7",
    "model~10.0.0": lambda e: bool(e.endpoints),
    "model!=tgi://10.0.0.5:8080": lambda e: "tgi://10.0.0.5:8080" not in e.endpoints.values(),
    "text~pencils": lambda e: says(e, "pencils"),
    "text~pencils text~Maria origin=run": lambda e: says(e, "pencils") and says(e, "Maria") and e.origin == "run",
    "text~river": lambda e: says(e, "river"),
    "text~R1": lambda e: says(e, "R1"),
    "label=right": lambda e: e.id == 6,
    "label!=right": lambda e: e.id != 6,
    "label=unsure": lambda e: e.id == 1,
    "rating>=9": lambda e: e.id == 3,
    "rating<9": lambda e: e.id == 4,
    "meta.topic=algebra": lambda e: e.task.gold.get("meta", {}).get("topic") == "algebra",
    "meta.topic!=algebra": lambda e: e.task.gold.get("meta", {}).get("topic") != "algebra",
    'meta."year">1990': lambda e: e.task.gold.get("meta", {}).get("year", 0) > 1990,
    "since=2026-09-25T02:13:35": lambda e: e.finished_at >= 1790302415,
    "until=2026-09-24": lambda e: e.finished_at < 1790208000,
}


#: A stream and a page of a list find episodes by the same conditions; a stream reads all steps of each.
STREAMED = ("job=aaaaaaa5", "score<0.5 score>0", "text~river", "tag.team!=maths")


def test_every_field_has_a_case():
    assert {term.field for where in CASES for term in parse_where(where).terms} == set(FIELDS)


@pytest.mark.parametrize("where", CASES)
def test_a_filter_finds_what_python_finds(database, everything, where):
    assert len(everything) == len(JOBS) * PER_JOB - 1
    wanted = [episode.id for episode in everything if CASES[where](episode)]
    assert wanted and (
        where in ("", "project=default split=train licence=MIT", "sample<99999999999999999999")
        or len(wanted) < len(everything)
    )
    with reading(database) as connection:
        assert [row.id for row in find_episodes(connection, parse_where(where), limit=1000)] == wanted
    if where in STREAMED:
        assert [episode.id for episode in stream_episodes(database, parse_where(where))] == wanted


def test_a_text_is_found_wherever_it_stands_and_only_there(database):
    with reading(database) as connection:
        found = [row.id for row in find_episodes(connection, parse_where("text~" + json.dumps(QUOKKA)))]
        task = connection.execute(select(EpisodeRow.task).where(EpisodeRow.id == 160)).scalar()
        asked = connection.execute(select(EpisodeRow.id).where(EpisodeRow.task == task)).scalars()
        assert found == sorted({4, 11, 90, 101, 120, *asked})
        for nearly in ("quokka's 5_%of", "QUOKKA", "quokka%all", "/", "quokka''s"):
            assert not find_episodes(connection, parse_where(f"text~{json.dumps(nearly)}"))


def test_sql_in_a_filter_is_only_text(database):
    tables = ("episode", "score", "job")

    def counts() -> list[int]:
        with reading(database) as connection:
            return [connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() for table in tables]

    before = counts()
    attack = "'; DROP TABLE score; DELETE FROM episode; -- \\\" ' OR '1'='1"
    for name, operators in FIELDS.items():
        if "~" in operators:
            with reading(database) as connection:
                field = {"tag": "tag.team", "meta": "meta.topic"}.get(name, name)
                assert not find_episodes(connection, parse_where(f'{field}~"{attack}"'))
    assert counts() == before


@pytest.mark.parametrize("statement", ["DELETE FROM score", "CREATE TABLE mine (x INTEGER)", "DROP VIEW v_episodes"])
def test_nothing_can_be_written_while_reading(database, statement):
    with reading(database) as connection, pytest.raises(DatabaseUnavailable, match=r"read-?only"):
        connection.execute(text(statement))
    with database.writer.begin() as connection:  # the same connection writes again afterwards
        connection.execute(text("UPDATE job SET waiting = '' WHERE id = 'none'"))


def test_pages_follow_one_another_without_gap_or_repetition(database):
    wanted = parse_where("score<=1 formulation!=one-pass")
    with reading(database) as connection:
        whole = [row.id for row in find_episodes(connection, wanted, limit=1000)]
        paged: list[int] = []
        while page := find_episodes(connection, wanted, paged[-1] if paged else 0, 17):
            paged += [row.id for row in page]
    assert len(whole) > 50 and paged == whole


def test_a_row_shows_what_the_episode_is(database):
    with reading(database) as connection:
        row = find_episodes(connection, parse_where("job=aaaaaaa5"), limit=1)[0]
        (episode,) = load_episodes(connection, [row.id])
    assert (row.benchmark, row.row, row.question, row.gold) == (
        episode.task.benchmark,
        episode.task.row,
        episode.task.question,
        episode.task.gold,
    )
    assert (row.score, row.ordinal, f"{row.job}-{row.ordinal}") == (score(episode), 0, episode.name)
    assert episode.scores == {"accuracy": 0.25, "strict": 0.25} and set(episode.endpoints) == {"planner", "grounder"}


def test_a_stream_gives_each_episode_whole_though_others_write(tmp_path, monkeypatch):
    monkeypatch.setattr(db.queries.trajectories, "IDS_AT_ONCE", 30)
    with_all = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
    make_store(with_all, PER_JOB)
    _streamed_while_written(with_all)


def test_a_stream_gives_each_episode_whole_though_others_write_to_postgresql(postgres_url, monkeypatch):
    monkeypatch.setattr(db.queries.trajectories, "IDS_AT_ONCE", 30)
    opened = open_database(postgres_url)
    make_store(opened, PER_JOB)
    _streamed_while_written(opened)


def _streamed_while_written(database):
    """An episode that finishes meanwhile is not among them; one that is taken away meanwhile is missing, no more."""
    with database.writer.begin() as connection:
        connection.execute(text("UPDATE episode SET ending = '', finished_at = NULL WHERE id = 150"))
    before = {episode.id: episode for episode in stream_episodes(database, parse_where(""))}
    stream = stream_episodes(database, parse_where(""), chunk=7)
    found = {episode.id: episode for _, episode in zip(range(10), stream, strict=False)}
    with database.writer.begin() as connection:
        finished = "UPDATE episode SET ending = 'answered', finished_at = 4102444800 WHERE id = 150"
        connection.execute(text(finished))
        connection.execute(text("DELETE FROM item WHERE id = 180"))
    found |= {episode.id: episode for episode in stream}
    assert 180 in before and before.pop(180)
    assert found == before
    assert all(len(one.steps) >= 4 for one in found.values())
    database.close()


def test_the_views_have_the_documented_columns(database):
    page = (Path(__file__).parents[2] / "docs" / "queries.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(v_\w+)` \| .*? \| (.*) \|$", page, re.MULTILINE)
    described = {name: re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", columns)) for name, columns in rows}
    found = inspect(database.engine)
    assert {
        name: [column["name"] for column in found.get_columns(name)] for name in found.get_view_names()
    } == described


def test_a_view_shows_the_newest_score_and_only_what_is_accepted(database):
    with reading(database) as connection:

        def value(query: str):
            return connection.execute(text(query)).scalar()

        assert value("SELECT score FROM v_episodes WHERE episode_id = 76") == 0.25
        assert value("SELECT version FROM v_scores WHERE episode_id = 3") == "1"
        assert value("SELECT count(*) FROM v_episodes WHERE episode_id IN (80, 81)") == 1
        assert value("SELECT count(*) FROM v_actions WHERE name = 'Abandoned'") == 0
        assert value("SELECT subgoals FROM v_episodes WHERE episode_id = 80") == 0
        assert value("SELECT count(*) FROM v_calls WHERE episode_id = 80 AND accepted = 1") > 0
        assert value("SELECT value FROM v_labels WHERE episode_id = 1") == "unsure"


@pytest.fixture
def command(lumos, url):
    lumos.set(LUMOS_DATABASE_URL=url.replace("+psycopg", ""))
    return lumos


on_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


def test_the_command_goes_from_page_to_page(command):
    names, after = [], []
    while True:
        page = command(
            "episodes", "aaaaaaa8", "--where", "calls>=5 action=Count", "--limit", "4", "--json", *after
        ).json
        assert page["where"] == "calls>=5 action=Count" and len(page["episodes"]) <= 4
        names += [one["episode"] for one in page["episodes"]]
        if not page["next"]:
            break
        after = ["--after", page["next"]]
    whole = command("episodes", "--where", "job=aaaaaaa8 calls>=5 action=Count", "--limit", "1000", "--json").json
    assert names == [one["episode"] for one in whole["episodes"]] and len(names) > 8


@on_sqlite
def test_the_command_prints_how_to_go_on(command):
    out = command("episodes", "aaaaaaa5", "--where", "score<1", "--limit", "2").out
    assert re.search(
        r"Next page: lumos episodes aaaaaaa5 --where 'score<1' --after aaaaaaa5-\d+ --limit 2$", out.strip()
    )
    page = command("episodes", "aaaaaaa5", "--after", "24", "--json").json
    assert [one["episode"] for one in page["episodes"]] == ["aaaaaaa5-24"]
    assert "No finished episode matches." in command("episodes", "--where", 'text~"nobody says this"').out


@on_sqlite
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--where", "colour=red"], "No field called 'colour'"),
        (["--where", "ending=answerd"], "No ending called 'answerd'"),
        (["--where", "level>=best"], "No level called 'best'"),
        (["--after", "7"], "Cannot continue after '7'"),
        (["--after", "zzz-7"], "No job has an id that starts with 'zzz'"),
        (["--where", "score=1; DROP TABLE score"], "The value of 'score' is '1;'"),
    ],
)
def test_what_the_command_cannot_read_is_one_line(command, options, named):
    refused = command("episodes", *options)
    assert refused.code == 2 and named in refused.err and refused.err.count("\n") == 1


@on_sqlite
def test_python_gets_them_one_by_one(url, database):
    settings = Settings(database_url=url)
    wanted = episodes("score=0.25 origin=run", deployment=settings)
    found = [episode.name for episode in wanted]
    assert found and found == [one.name for one in stream_episodes(database, parse_where("score=0.25 origin=run"))]
    assert wanted.to_columns()["episode"] == found and wanted.count() == len(found)


def test_the_store_is_what_it_says(database):
    with reading(database) as connection:
        ordinals = func.count(func.distinct(EpisodeRow.job))
        assert connection.execute(select(ordinals)).scalar() == len(JOBS)
        assert connection.execute(select(func.count()).select_from(TextBlock)).scalar_one() > 1

"""Celery's control commands: whoever reaches the broker may ask a worker questions, and change nothing of it."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import redis
from celery import Celery
from celery.worker import control
from kombu import Connection, Exchange, Producer

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from tests.bad_messages import count_refusals
from tests.services import CeleryWorker, start_redis, wait_until
from workers.app import make_app
from workers.remote_control import READING_COMMANDS, check_control_message
from workers.validation import CheckingConsumer, Consumer, MessageRejected

PASSWORD = "BROKERsecret1"
ARGUMENTS = {
    "rate_limit": {"task_name": "evaluate", "rate_limit": "1/h"},
    "time_limit": {"task_name": "evaluate", "hard": 1, "soft": 1},
    "pool_grow": {"n": 8},
    "pool_shrink": {"n": 1},
    "autoscale": {"max": 9, "min": 1},
    "cancel_consumer": {"queue": "llm"},
    "add_consumer": {"queue": "other"},
    "revoke": {"task_id": "x", "terminate": True},
    "terminate": {"signal": "KILL", "task_id": "x"},
    "hello": {"from_node": "x", "revoked": ["y"]},
    "election": {"id": "x", "topic": "t", "action": {}},
    "no_such_command": {"any": "thing"},
}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory):
    """A worker, and a peer of its broker that knows nothing but the password."""
    folder = tmp_path_factory.mktemp("control")
    database = open_database(f"sqlite:///{folder / 'lumos.db'}")
    upgrade(database)
    with start_redis() as server:
        redis.Redis(port=server.port).config_set("requirepass", PASSWORD)
        url = f"redis://:{PASSWORD}@127.0.0.1:{server.port}/0"
        with CeleryWorker(folder, "llm", broker_url=url, database_url=database.url) as worker:
            yield SimpleNamespace(worker=worker, url=url, peer=Celery(broker=url), database=database)
    database.close()


def ask(deployed, name: str, **arguments) -> object:
    (reply,) = deployed.peer.control.broadcast(name, arguments=arguments, reply=True, timeout=20, limit=1)
    (answer,) = reply.values()
    return answer


@pytest.mark.parametrize("name", sorted({*control.Panel.data, *ARGUMENTS} - set(READING_COMMANDS)))
def test_a_command_that_does_not_only_read_is_refused_and_counted(deployed, name):
    children, before = set(deployed.worker.children()), count_refusals(deployed.database).get("control command", 0)
    answer = ask(deployed, name, **ARGUMENTS.get(name, {}))
    assert answer["error"].startswith(f"refused: lumos workers take no control command '{name}'")
    wait_until(lambda: count_refusals(deployed.database).get("control command", 0) > before, "it is counted")
    wait_until(lambda: deployed.worker.has_logged(f"control command; the latest: {name}"), "it is logged")
    assert deployed.worker.alive and set(deployed.worker.children()) == children
    assert [queue["name"] for queue in ask(deployed, "active_queues")] == ["llm"]


def test_reading_commands_are_answered_without_secrets(deployed):
    for name in READING_COMMANDS:
        answer = ask(deployed, name, **({"ids": ["x"]} if name == "query_task" else {}))
        assert not (isinstance(answer, dict) and "error" in answer), (name, answer)
        assert PASSWORD not in json.dumps(answer), name
    assert ask(deployed, "ping") == {"ok": "pong"}
    assert ask(deployed, "registered", taskinfoitems=["app"]) == ["convert", "evaluate", "infer", "train_shard"]
    assert ask(deployed, "conf", with_defaults=True)["broker_url"].startswith("redis://***@127.0.0.1:")
    assert "error" in ask(deployed, "query_task", ids=[[]])


def test_messages_that_are_no_commands_are_dropped(deployed):
    before = sum(count_refusals(deployed.database).values())
    bodies = [
        [],
        "x",
        {"method": 5},
        {"method": "ping", "arguments": [1]},
        {"method": "ping", "pattern": "(a+)+$", "matcher": "pcre"},
        {"method": "ping", "reply_to": {"exchange": "llm", "routing_key": "llm"}},
        {"method": "ping", "arguments": {"x": "y" * 20_000}},
        {"method": "ping", "destination": "llm"},
    ]
    exchange = Exchange("celery.pidbox", type="fanout", durable=False)
    with Connection(deployed.url) as connection:
        for body in bodies:
            producer = Producer(connection, exchange=exchange)
            producer.publish(body, serializer="json", headers={"clock": 10**400})
    wait_until(
        lambda: sum(count_refusals(deployed.database).values()) >= before + len(bodies), "all of them are counted"
    )
    assert ask(deployed, "ping") == {"ok": "pong"} and ask(deployed, "clock")["clock"] < 10**6
    assert not deployed.worker.has_logged("Traceback")


def test_workers_do_not_believe_each_other_whatever_the_command_line_says(monkeypatch):
    passed = {}
    monkeypatch.setattr(Consumer, "__init__", lambda self, *arguments, **options: passed.update(options))
    CheckingConsumer(None, worker_options={"without_gossip": False, "without_mingle": False})
    assert passed["worker_options"] == {"without_gossip": True, "without_mingle": True}
    steps = CheckingConsumer.Blueprint.default_steps
    assert "workers.remote_control:CheckedControl" in steps
    assert "celery.worker.consumer.control:Control" not in steps


@pytest.mark.parametrize("content_type", ["application/x-python-serialize", "application/x-yaml"])
def test_nothing_but_json_is_decoded(content_type):
    message = SimpleNamespace(content_type=content_type, content_encoding="utf-8", body=b'{"method": "ping"}')
    with pytest.raises(MessageRejected, match="not JSON"):
        check_control_message(message, "reply.celery.pidbox")


def test_secrets_of_several_brokers_are_not_in_the_configuration():
    from workers.remote_control import _read_conf

    app = make_app(f"amqp://u:{PASSWORD}@a//;amqp://u:{PASSWORD}@b//")
    app.conf.broker_read_url = f"redis://h/0?password={PASSWORD}"
    answer = json.dumps(_read_conf(SimpleNamespace(app=app)))
    assert PASSWORD not in answer and "amqp://u:***@a//;amqp://u:***@b//" in answer

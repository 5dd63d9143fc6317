"""The Celery app: which messages it accepts and sends, from which queues, and when a child counts as hanging."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace

import pytest
from kombu import Connection

import workers.app
import workers.queues
from db.kinds.job_kinds import JobKind
from lumos_queue.settings import Settings
from lumos_queue.util.display import LogFormatter
from tests.services import wait_until
from tests.unit.test_worker_up_parts import answer_with
from workers.app import CELERY_TASKS, HANGS_AFTER, TRAINING_HANGS_AFTER, Loader, make_app
from workers.notify import MAX_MESSAGES, _app, notify_workers
from workers.stop_signal import MAX_SLICES

REDIS, RABBITMQ = "redis://h:6379/0", "amqp://u:p@h//"
JOB = "abcdefgh"


@pytest.mark.parametrize("url", [REDIS, "rediss://h/0", RABBITMQ, "amqps://h//"])
def test_messages_are_json_and_results_are_never_stored(url):
    conf = make_app(url).conf
    assert (conf.accept_content, conf.task_serializer, conf.event_serializer) == (["json"], "json", "json")
    assert conf.result_backend is None and conf.task_ignore_result is True
    assert conf.broker_url == url and conf.timezone == "UTC"
    assert conf.worker_consumer == "workers.validation:CheckingConsumer", "each message is checked before it is decoded"


def test_an_app_without_a_broker_has_no_address():
    assert not make_app("").conf.broker_url


def test_an_app_does_not_become_the_current_app_of_a_program():
    from celery import current_app

    app = make_app(REDIS)
    assert current_app._get_current_object() is not app and app.main == "lumos"


def test_each_pool_has_a_queue_of_its_name_and_each_kind_of_job_a_usual_pool():
    app = make_app(REDIS)
    queues = {queue.name: (queue.exchange.name, queue.routing_key) for queue in app.conf.task_queues}
    assert queues == {pool: (pool, pool) for pool in ("cpu", "llm", "gpu")}
    assert app.conf.task_default_queue == "cpu"
    routes = {kind: app.conf.task_routes[task]["queue"] for kind, task in CELERY_TASKS.items()}
    assert routes == {"convert": "cpu", "train": "gpu", "infer": "llm", "evaluate": "llm"}
    assert app.conf.include == ["workers.tasks"]


def test_on_redis_a_message_is_confirmed_at_its_start_and_no_message_is_kept_for_later():
    conf = make_app(REDIS).conf
    assert (conf.task_acks_late, conf.worker_disable_prefetch, conf.worker_prefetch_multiplier) == (False, True, 1)
    assert conf.broker_channel_error_retry is True, "a full Redis does not end a worker that starts"
    assert conf.broker_transport_options == {
        "visibility_timeout": 3600,
        "socket_connect_timeout": 4,
        "socket_timeout": 30,
        "socket_keepalive": True,
        "health_check_interval": 10,
    }


def test_on_rabbitmq_a_message_is_confirmed_at_the_end_of_its_slice_and_a_lost_one_is_an_error():
    conf = make_app(RABBITMQ).conf
    assert (conf.task_acks_late, conf.worker_disable_prefetch, conf.worker_prefetch_multiplier) == (True, False, 1)
    assert conf.broker_channel_error_retry is False
    assert conf.broker_transport_options == {"confirm_publish": True}
    assert conf.task_annotations["train_shard"]["acks_late"] is False, "a training outlasts RabbitMQ's patience"


@pytest.mark.parametrize(("arguments", "seconds"), [((), 600.0), ((5.0,), 50.0)])
def test_a_child_counts_as_hanging_an_hour_after_the_longest_slice_and_a_training_a_day_after_it(arguments, seconds):
    conf = make_app(REDIS, *arguments).conf
    assert MAX_SLICES == 10 and (HANGS_AFTER, TRAINING_HANGS_AFTER) == (3600.0, 86400.0)
    assert conf.task_time_limit == seconds + 3600
    assert conf.task_annotations["train_shard"]["time_limit"] == seconds + 86400
    assert list(conf.task_annotations) == ["train_shard"]


def test_a_worker_waits_for_its_broker_for_any_time():
    conf = make_app(REDIS).conf
    assert conf.broker_connection_retry_on_startup is True and conf.broker_connection_max_retries is None
    assert (conf.broker_connection_timeout, conf.broker_heartbeat) == (4, 30)


def test_flower_gets_the_events_of_tasks():
    conf = make_app(REDIS).conf
    assert conf.worker_send_task_events and conf.task_send_sent_event and conf.task_track_started


def test_log_lines_have_time_level_process_and_source_and_no_colours():
    conf = make_app(REDIS).conf
    assert conf.worker_hijack_root_logger is True and conf.worker_log_color is False
    assert conf.worker_log_format == "%(asctime)s %(levelname)s %(processName)s %(name)s: %(message)s"
    assert conf.worker_task_log_format == "%(asctime)s %(levelname)s %(processName)s %(task_name)s: %(message)s"


def test_the_app_of_a_worker_has_the_broker_and_the_slices_of_its_environment(monkeypatch):
    monkeypatch.setenv("LUMOS_BROKER_URL", REDIS)
    monkeypatch.setenv("LUMOS_SLICE_SECONDS", "7")
    conf = workers.app._from_environment().conf
    assert conf.broker_url == REDIS and conf.task_time_limit == 70 + HANGS_AFTER


def test_a_module_of_the_current_folder_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "random_plugin_of_nobody.py").write_text("raise SystemExit('it ran')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    loader = Loader(make_app(REDIS))
    with pytest.raises(ModuleNotFoundError):
        loader.import_from_cwd("random_plugin_of_nobody")
    assert loader.import_from_cwd("json").__name__ == "json"
    assert loader.import_from_cwd(".decoder", package="json").__name__ == "json.decoder"
    assert loader.import_from_cwd("m", lambda *names: names, "p") == ("m", "p")


def test_a_worker_drains_from_term_until_the_next_start(monkeypatch):
    monkeypatch.setattr(workers.app, "_drain", bytearray(1))
    assert workers.app.draining() is False
    workers.app._shut_down()
    assert workers.app.draining() is True


def test_lines_of_a_worker_are_made_harmless_once():
    logger, handler = logging.Logger("x"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.addHandler(handler)
    for _ in range(2):
        workers.app._escape_log_lines(logger=logger)
    formatter = handler.formatter
    assert isinstance(formatter, LogFormatter) and not isinstance(formatter._inner, LogFormatter)


def test_a_worker_without_a_broker_ends_with_advice(monkeypatch):
    monkeypatch.setattr(workers.app, "app", make_app(""))
    monkeypatch.setattr(workers.app, "_drain", bytearray(1))
    with pytest.raises(SystemExit) as end:
        workers.app._begin()
    assert str(end.value) == (
        "No broker: set LUMOS_BROKER_URL, as in redis://HOST:6379/0 or amqp://USER:PASSWORD@HOST:5672//, "
        "or start one with: lumos up"
    )


def read_queues(url: str) -> dict[str, list]:
    """Return and remove the messages of each pool, on a broker in memory."""
    messages: dict[str, list] = {}
    with Connection(url) as connection:
        for queue in make_app(url).conf.task_queues:
            bound = queue(connection.default_channel)
            bound.declare()
            messages[queue.name] = list(iter(lambda bound=bound: bound.get(no_ack=True), None))
    return messages


@pytest.fixture
def memory():
    """Settings with a broker in the memory of this process, with empty queues."""
    settings = Settings(broker_url="memory://", concurrency=10)
    read_queues(settings.broker_url)
    return settings


@pytest.mark.parametrize(("items", "count"), [(1, 1), (10, 1), (11, 2), (20, 2), (1000, MAX_MESSAGES)])
def test_a_notification_sends_a_message_for_each_slice_that_is_needed_and_at_most_four(memory, items, count):
    assert notify_workers(memory, JobKind.EVALUATE, JOB, items) is True
    assert {pool: len(messages) for pool, messages in read_queues("memory://").items()} == {
        "cpu": 0,
        "gpu": 0,
        "llm": count,
    }


def test_a_message_has_the_id_of_the_job_and_goes_to_the_pool_of_the_job(memory):
    assert notify_workers(memory, JobKind.TRAIN, JOB, 1, "cpu") is True
    queues = read_queues("memory://")
    (message,) = queues.pop("cpu")
    assert not any(queues.values())
    assert message.headers["task"] == "train_shard" and message.headers["ignore_result"] is True
    assert message.decode()[:2] == [[JOB], {}]


@pytest.mark.parametrize(("url", "items"), [("", 1), ("memory://", 0), ("memory://", -1)])
def test_nothing_is_sent_without_a_broker_or_without_items(memory, url, items):
    settings = memory.model_copy(update={"broker_url": url})
    assert notify_workers(settings, JobKind.EVALUATE, JOB, items) is False
    assert not any(read_queues("memory://").values())


def test_a_notification_that_fails_is_one_line_of_the_log(caplog):
    settings = Settings(broker_url="nonsense://x")
    assert notify_workers(settings, JobKind.EVALUATE, JOB, 1) is False
    (line,) = caplog.messages
    assert line == f"notification for job {JOB} not sent: KeyError"


def test_a_notification_that_the_broker_refuses_names_its_reason(caplog):
    with answer_with(b"-OOM command not allowed when used memory > 'maxmemory'.\r\n") as port:
        assert notify_workers(Settings(broker_url=f"redis://127.0.0.1:{port}/0"), JobKind.EVALUATE, JOB, 1) is False
        wait_until(lambda: caplog.messages, "it is logged")
    (line,) = caplog.messages
    assert line == f"notification for job {JOB} not sent: command not allowed when used memory > 'maxmemory'"


def test_the_sender_of_notifications_waits_a_second_for_its_broker_and_tries_once():
    for url, limits in (
        (REDIS, {"socket_connect_timeout": 1, "socket_timeout": 1}),
        (RABBITMQ, {"read_timeout": 1, "write_timeout": 1}),
    ):
        app = _app(url)
        once = {"max_retries": 1, "interval_start": 0, "interval_max": 0}
        assert app.conf.broker_transport_options == make_app(url).conf.broker_transport_options | once | limits
        assert app.conf.broker_connection_retry is False
        assert app.conf.broker_url == url and _app(url) is app


class Queues(SimpleNamespace):
    """Celery's queues as far as a worker chooses them."""

    def deselect(self, names: list[str]) -> None:
        self.consume_from = {name: queue for name, queue in self.consume_from.items() if name not in names}


@pytest.fixture
def chosen(monkeypatch, tmp_path):
    """Choose the queues of a worker: `chosen(queues, gpus)` returns those that it consumes, and the served pools."""
    from db.kinds.pools import Gpus

    def choose(names: list[str], gpus: int) -> tuple[list[str], tuple[str, ...]]:
        asked = []
        monkeypatch.setattr(workers.queues, "share_answer", lambda: None)
        monkeypatch.setattr(workers.queues, "_pools", ())
        monkeypatch.setattr(workers.queues, "find_gpus", lambda folder: asked.append(folder) or Gpus(gpus, 0))
        app = SimpleNamespace(amqp=SimpleNamespace(queues=Queues(consume_from=dict.fromkeys(names))))
        workers.queues.choose_queues(app, Settings(home=tmp_path))
        assert all(folder == tmp_path / "run" / "empty" for folder in asked)
        assert bool(asked) == (names == ["gpu"]), "the question takes a minute: only a worker of this pool asks first"
        return list(app.amqp.queues.consume_from), workers.queues.get_served_pools()

    return choose


def test_a_worker_serves_the_pools_of_its_queues_and_consumes_nothing_if_it_needs_a_gpu_and_has_none(chosen, capsys):
    assert chosen(["llm", "cpu", "other"], 0) == (["llm", "cpu", "other"], ("cpu", "llm"))
    assert chosen(["gpu", "llm"], 0) == (["gpu", "llm"], ("llm", "gpu"))
    assert chosen(["gpu"], 1) == (["gpu"], ("gpu",))
    assert capsys.readouterr().out == ""
    assert chosen(["gpu"], 0) == ([], ("gpu",))
    assert capsys.readouterr().out == "lumos: this worker finds no GPU and serves no other pool: it takes no job\n"


@pytest.mark.parametrize(
    ("gpus", "pool", "leaves"),
    [(None, "gpu", False), (0, "gpu", True), (1, "gpu", False), (0, "llm", False), (0, None, False)],
)
def test_only_a_worker_that_has_found_no_gpu_leaves_messages_of_that_pool_to_others(monkeypatch, gpus, pool, leaves):
    from db.kinds.pools import Gpus

    monkeypatch.setattr(workers.queues, "get_known_gpus", lambda: None if gpus is None else Gpus(gpus, 0))
    message = SimpleNamespace(delivery_info=None if pool is None else {"routing_key": pool})
    assert workers.queues.is_for_others(message) is leaves


def test_a_message_for_others_goes_back_to_the_broker_and_the_queue_is_left(caplog):
    calls = []
    consumer = SimpleNamespace(connection_errors=(OSError,), cancel_task_queue=lambda name: calls.append(name))
    message = SimpleNamespace(reject_log_error=lambda *arguments, **options: calls.append((arguments, options)))
    workers.queues.leave_to_others(consumer, message)
    assert calls == ["gpu", ((workers.queues.log, (OSError,)), {"requeue": True})]
    assert caplog.messages == ["this worker has no GPU: it leaves the queue of the pool gpu to other workers"]

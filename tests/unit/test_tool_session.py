"""Episodes that call functions, through the real executor: what a model is shown, what is recorded, what is refused."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from lumos_queue.actions.tools.interface import ToolActions
from lumos_queue.commands import Call
from lumos_queue.episode import StepContext
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.records import Action, Execution, Task
from tests.tool_apis import (
    LATEST,
    LATEST_NAME,
    OFFICES,
    OFFICES_NAME,
    TASK,
    Simulator,
    call,
    entry,
    parameter,
    play,
    record,
)

P1 = call(LATEST_NAME, {"parcelid": "P1"})
SYNTHETIC = {"answers": "synthetic"}


def with_answers(*answers, functions=(LATEST, OFFICES)):
    return Task("toolbench", "d", "1", "Where?", {"functions": list(functions), "answers": list(answers)})


def calls(journal: MemoryJournal) -> list[tuple[Call, Execution]]:
    return [(step.command, step.result) for step in journal.steps if isinstance(step.command, Call)]  # type: ignore[misc]


def test_a_recorded_answer_is_shown_in_its_envelope():
    (done,), journal, run = play([P1], with_answers(record(response={"town": "Ombry"})))
    assert done.ok and done.result == '{"error": "", "response": {"town": "Ombry"}}'
    assert done.values == ({"kind": "observation", "text": done.result, "code": 0},)
    assert (done.provenance, done.message) == ("recorded", "") and done.seconds > 0
    ((made, answer),) = calls(journal)
    assert made.arguments == {
        "category": "Parcels, Mail",
        "tool": "Swift Post",
        "api": "Latest",
        "arguments": {"parcelid": "P1"},
    }
    assert (made.tool, made.nth, answer.provenance) == ("api", 0, "recorded")
    assert len(run.actions) == 1


def test_an_episode_is_resumed_without_asking_again():
    task, actions = with_answers(record(response="a"), record(response="b")), [P1, P1, P1]
    whole, journal, _ = play(actions, task)
    assert [json.loads(done.result)["response"] for done in whole] == ["a", "b", "b"]
    for kept in range(len(journal.steps) + 1):
        again, _, _ = play(actions, task, journal=MemoryJournal(journal.steps[:kept]))
        assert [done.result for done in again] == [done.result for done in whole]


def test_equal_requests_are_counted_in_the_order_of_steps_and_others_are_not():
    spelled, other = call(LATEST_NAME, {"full": None, "parcelId": "P1"}), call(LATEST_NAME, {"parcelid": "P2"})
    unread = call(LATEST_NAME, "{")
    _, journal, _ = play([[P1, other, spelled], unread, [call(OFFICES_NAME), P1]], tools=SYNTHETIC)
    nths = {(step.position, step.branch): step.command.nth for step in journal.steps if isinstance(step.command, Call)}
    assert nths == {(0, 1000): 0, (0, 2000): 0, (0, 3000): 1, (2, 1000): 0, (2, 2000): 2}
    assert len({made.digest for made, _ in calls(journal)}) == 3, "the count is no part of the digest"


def test_what_is_not_recorded_says_so():
    (done,), _, _ = play([P1])
    assert (done.status, done.values[0]["code"], done.provenance) == ("not_recorded", None, "")
    assert json.loads(done.result)["error"] and LATEST_NAME in done.message


def test_the_nearest_answer_is_flagged_and_other_apis_have_none():
    task = with_answers(record(arguments={"parcelid": "P9"}))
    near, none = play([P1, call(OFFICES_NAME)], task, {"answers": "nearest"})[0]
    assert near.ok and "nearest" in near.message and "P9" in near.message and near.provenance == "recorded"
    assert none.status == "not_recorded"
    (strict,) = play([P1], task)[0]
    assert strict.status == "not_recorded", "nothing near is taken unless that was asked for"


def test_records_come_first_and_the_tasks_own_before_the_files(tmp_path):
    path = tmp_path / "records.jsonl"
    lines = [
        record(response="file"),
        record("Offices", {}, "file"),
        record("Offices", {"town": "Vell"}, "x", provenance="simulated"),
    ]
    path.write_text("\n".join(json.dumps(one) for one in lines))
    tools = ToolActions.prepare(SYNTHETIC | {"records": str(path)})
    asked = [P1, call(OFFICES_NAME), call(OFFICES_NAME, {"town": "Vell"}), call(OFFICES_NAME, {"town": "Ombry"})]
    given = play(asked, with_answers(record(response="own")), tools)[0]
    assert [json.loads(done.result)["response"] for done in given[:3]] == ["own", "file", "x"]
    assert [done.provenance for done in given] == ["recorded", "recorded", "simulated", "synthetic"]


def test_statuses_of_answers_are_kept_with_their_codes():
    task = with_answers(
        record(response="", error="later", code=10),
        record(arguments={"parcelid": "P2"}, response="a harmless error"),
        record(arguments={"parcelid": "P3"}, error="broken", response=""),
        record(arguments={"parcelid": "P4"}, error="no error at all", response="x", code=0),
    )
    given = play([call(LATEST_NAME, {"parcelid": f"P{n}"}) for n in (1, 2, 3, 4)], task)[0]
    assert [(done.status, done.values[0]["code"]) for done in given] == [
        ("rate_limited", 10),
        ("ok", 0),
        ("tool_error", 11),
        ("ok", 0),
    ]
    assert given[0].result == '{"error": "later", "response": ""}', "a model sees the error"


def test_a_long_answer_is_shown_cut_and_kept_whole():
    task = with_answers(record(response="x" * 5_000))
    (done,) = play([P1], task)[0]
    assert len(done.result) == 1_027 and done.result.endswith("...") and done.values[0]["truncated"]
    assert json.loads(done.values[0]["full"])["response"] == "x" * 5_000
    (done,) = play([P1], task, {"observation": "9000"})[0]
    assert "full" not in done.values[0] and len(done.result) > 5_000


def test_names_that_are_no_function_and_arguments_that_do_not_fit_call_nothing():
    asked = [
        call("latest"),
        call(""),
        call(LATEST_NAME + " "),
        call("finish"),
        call("x" * 9_999),
        call("a\x00\ud800"),
        call(LATEST_NAME),
        call(LATEST_NAME, "[1]"),
    ]
    given, journal, _ = play(asked, tools=SYNTHETIC)
    assert [done.status for done in given] == ["unknown_action"] * 6 + ["invalid_arguments"] * 2
    assert [done.values[0]["code"] for done in given] == [1] * 6 + [2] * 2
    assert calls(journal) == [] and all(json.loads(done.result)["error"] == done.message for done in given)


def test_finish_ends_or_gives_up():
    answer = call("Finish", {"return_type": "give_answer", "final_answer": "In Ombry."})
    asked = [answer, call("Finish", {"return_type": "give_up_and_restart"}), call("Finish")]
    given, journal, _ = play(asked)
    assert given[0].ends and given[0].result == "In Ombry."
    assert given[0].values == ({"kind": "answer", "text": "In Ombry.", "ends": True, "code": 3},)
    assert [(done.status, done.values[0]["code"]) for done in given[1:]] == [("give_up", 4), ("invalid_arguments", 2)]
    assert calls(journal) == [] and not any(done.ends for done in given[1:])


def test_a_task_without_functions_or_with_no_list_of_them_knows_finish_alone():
    for inputs in ({}, {"functions": 7}, {"functions": [7, None]}, {"functions": None, "answers": 7}):
        given = play([P1, call("Finish", {"Answer": "x"})], replace(TASK, inputs=inputs))[0]
        assert [done.status for done in given] == ["unknown_action", "ok"]


def test_answers_of_the_task_that_cannot_be_read_are_counted_in_the_message():
    (done,) = play([P1], with_answers({"api": 7}, "text"))[0]
    assert "2 of the answers that the task brings along cannot be read" in done.message


def test_hostile_documents_and_bodies_give_statuses():
    deep: list = []
    for _ in range(3_000):
        deep = [deep]
    functions = [entry("Deep", template_response={"a": deep}), entry("Nul", template_response={"a\x00": "\ud800"})]
    answers = [record("Nul", {}, "x" * 10**6 + "\x00"), record("Nul", {}, "\ud800")]
    given = play(
        [call("deep_for_swift_post"), call("nul_for_swift_post"), call("nul_for_swift_post")],
        with_answers(*answers, functions=functions),
        SYNTHETIC,
    )[0]
    assert [done.status for done in given] == ["tool_error", "ok", "ok"]
    json.dumps([[done.result, done.message, done.values] for done in given]).encode()


def test_the_simulator_is_asked_in_its_role_and_recorded():
    simulator = Simulator(
        '{"error": "", "response": {"town": "Vell"}}',
        '```json\n{"town": "Ombry"}\n```',
        "no JSON",
        '{"error": "wrong id", "response": ""}',
        "",
        '{"response": {"a": "b\nc"}}',
    )
    task = with_answers(record(arguments={"parcelid": "P9"}, response="an example"))
    asked = [call(LATEST_NAME, {"parcelid": f"P{number}"}) for number in range(6)]
    given, journal, _ = play(asked, task, {"answers": "simulated"}, simulator)
    assert [done.status for done in given] == ["ok", "ok", "tool_error", "tool_error", "tool_error", "ok"]
    assert [json.loads(done.result)["response"] for done in given[:2]] == [{"town": "Vell"}, {"town": "Ombry"}]
    assert "not JSON" in given[2].message and {done.provenance for done in given} == {"simulated"}
    assert all("an example" in prompt for prompt in simulator.prompts)
    again, _, _ = play(asked, task, {"answers": "simulated"}, Simulator(), MemoryJournal(journal.steps))
    assert [one.result for one in again] == [one.result for one in given], "nobody is asked again"


def test_without_a_simulator_the_role_that_is_missing_is_named():
    _, _, run = play([P1], tools={"answers": "simulated"})
    assert run.outcome.ending == "infra_error" and "role 'simulator'" in run.outcome.message


class Server:
    """Stands for what calls outside: keeps the calls, and gives what it was told to."""

    def __init__(self, *answers: Execution):
        self.answers, self.made = list(answers), []

    async def call(self, command, key):
        self.made.append(command)
        return self.answers.pop(0)


def test_live_calls_go_outside_with_the_server_and_are_shown_the_same_way():
    body = {"kind": "response", "text": '{"error": "", "response": "x"}', "code": 0}
    server = Server(
        Execution("ok", values=(body,), provenance="live"),
        Execution("bad_reply", message="no JSON"),
        Execution("live_refused", message="not allowed"),
    )
    tools = {"answers": "live", "server": "https://h.example/virtual"}
    given = play([P1, P1, P1], with_answers(record()), tools, caller=server)[0]
    assert [done.status for done in given] == ["ok", "transport_error", "live_refused"]
    assert [done.values[0]["code"] for done in given] == [0, 12, None]
    assert given[1].result == '{"error": "no JSON", "response": ""}' and given[0].provenance == "live"
    assert [made.nth for made in server.made] == [0, 1, 2]
    assert server.made[0].arguments["server"] == "https://h.example/virtual"


def test_without_a_server_nothing_goes_outside():
    server = Server()
    for mode in ("strict", "nearest", "synthetic"):
        play([P1], tools={"answers": mode}, caller=server)
    assert server.made == []


def test_episodes_at_the_same_time_have_their_own_answers():
    interface = ToolActions(SYNTHETIC)

    async def one(number: int) -> str:
        task = with_answers(record(response=f"answer {number}"))
        session = interface.begin(task)

        async def step(command, position, branch):
            await asyncio.sleep(0)
            return await interface.local_tools["api"](command.arguments, command.nth, StepContext(position, branch))

        done = await session.execute(P1, StepContext(0, 0, step=step))
        return json.loads(done.result)["response"]

    async def go():
        return await asyncio.gather(*[one(number) for number in range(9)])

    assert asyncio.run(go()) == [f"answer {number}" for number in range(9)]


def test_a_call_that_no_session_has_made_is_answered_from_its_names():
    interface = ToolActions(SYNTHETIC)
    named = {"category": "C", "tool": "T", "api": "A", "arguments": {"q": 1}}
    done = asyncio.run(interface.local_tools["api"](named, 0, StepContext(0, 0)))
    assert json.loads(done.values[0]["text"])["response"] == {"api": "A", "arguments": {"q": 1}}


def test_an_action_of_a_function_with_ten_thousand_arguments_is_answered():
    task = with_answers(functions=[entry("Many", [], [parameter(f"p{number}") for number in range(10_000)])])
    (done,) = play([Action((), "many_for_swift_post", '{"p1": "x"}')], task, SYNTHETIC)[0]
    assert done.ok

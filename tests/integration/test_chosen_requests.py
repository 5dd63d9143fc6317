"""What reaches a server: its stop strings, the instruction, and everything that options choose about a request.

The server is scripted and stores the requests.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from sqlalchemy import update

import lumos_queue as lq
from db.engine.connection import open_database
from db.models import JobRow
from lumos_queue.settings import read_settings
from tests import scripted_models
from tests.command_line import CommandLine
from tests.fake_endpoint import FakeEndpoint

LINES = ["\n"]


@pytest.fixture
def server() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(lambda prompt: "Some words.\nThe answer is 7.", keep_bodies=True) as endpoint:
        yield endpoint


def evaluate(lumos: CommandLine, solver: str, *options: str, formulation: str = "cot") -> dict:
    fixed = ("evaluate", "wordmath", "--limit", "1", "--formulation", formulation, "--solver", solver)
    return lumos(*fixed, *options, "--json").json


def sent(server: FakeEndpoint) -> dict:
    """The fields of the only request since the last look."""
    (body,) = server.bodies
    server.bodies.clear()
    return body


def problem(lumos: CommandLine, *arguments: str) -> str:
    result = lumos(*arguments)
    assert result.code == 2
    (line,) = result.err.strip().splitlines()
    return line


def stored_agent(lumos: CommandLine, job: str) -> dict:
    return lumos("job", job, "--json").json["spec"]["infer"]["agent"]


def test_a_chat_model_gets_an_instruction_and_no_stop_string_and_others_get_what_they_always_got(lumos, server):
    evaluate(lumos, server.chat)
    body = sent(server)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["messages"][0]["content"].startswith("Think step by step, and write") and "stop" not in body
    assert (body["max_tokens"], body["temperature"]) == (512, 0.0)
    evaluate(lumos, server.openai)
    body = sent(server)
    assert body.pop("prompt").startswith("<|user|>\n")
    assert body == {"model": "fake", "max_tokens": 512, "temperature": 0.0, "stop": LINES}
    evaluate(lumos, server.tgi)
    body = sent(server)
    assert body.pop("inputs").startswith("<|user|>\n")
    assert body == {"parameters": {"max_new_tokens": 512, "details": True, "stop": LINES, "do_sample": False}}
    evaluate(lumos, server.chat, "--system", "")
    assert [message["role"] for message in sent(server)["messages"]] == ["user"]


def test_every_option_arrives(lumos, server, tmp_path):
    template, system = tmp_path / "template.txt", tmp_path / "system.txt"
    template.write_text("Solve {question} {json}\n")
    system.write_text("You are brief.\n")
    fields = ("--request", "top_k=5", "--request", 'solver.chat_template_kwargs={"enable_thinking": false}')
    texts = ("--system", f"@{system}", "--prompt", str(template), "--stop", r"\n\n", "--stop", "Q:")
    job = evaluate(lumos, server.chat, *fields, *texts, "--temperature", "0.5", "--max-tokens", "9")["job"]
    body = sent(server)
    assert body["messages"][0] == {"role": "system", "content": "You are brief."}
    assert body["messages"][1]["content"].startswith("Solve ") and body["messages"][1]["content"].endswith("{json}")
    assert (body["stop"], body["top_k"], body["chat_template_kwargs"]) == (
        ["\n\n", "Q:"],
        5,
        {"enable_thinking": False},
    )
    assert (body["temperature"], body["max_tokens"]) == (0.5, 9)
    shown = " ".join(lumos("job", job).out.split())
    for text in (r"stop '\n\n', 'Q:'", "request top_k 5", "system You are brief.", "prompt Solve {question} {json}"):
        assert text in shown
    requests = lumos("report", job, "--json").json["requests"]
    assert requests["request top_k"] == "5" and requests["stop"] == r"'\n\n', 'Q:'"
    assert re.search(r"^request top_k +5$", lumos("report", job, "--all").out, re.M)
    stored = stored_agent(lumos, job)
    assert stored["prompt"] == "Solve {question} {json}" and stored["sampling"]["request"]["top_k"] == 5


def test_fields_are_left_out_renamed_and_put_where_the_server_takes_them(lumos, server):
    renamed = ("--request", "max_tokens=null", "--request", "max_completion_tokens=77")
    evaluate(lumos, server.chat, *renamed)
    body = sent(server)
    assert "max_tokens" not in body and body["max_completion_tokens"] == 77
    evaluate(lumos, server.openai, *renamed)
    assert "max_tokens" not in sent(server)
    evaluate(lumos, server.tgi, "--request", "top_k=3", "--request", "do_sample=null")
    body = sent(server)
    assert set(body) == {"inputs", "parameters"} and body["parameters"]["top_k"] == 3
    assert "do_sample" not in body["parameters"]


class ReasoningServer(BaseHTTPRequestHandler):
    """Refuses `max_tokens`, as reasoning models of OpenAI do, and the first row as one that it cannot serve."""

    def do_GET(self):
        self._send(200, {"data": [{"id": "m", "object": "model"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "max_tokens" in body or "Refuse" in body["messages"][-1]["content"]:
            self._send(400, {"error": {"message": "Unsupported parameter: 'max_tokens'."}})
        else:
            self._send(200, {"choices": [{"message": {"content": "7"}, "finish_reason": "stop"}]})

    def _send(self, status: int, value: object):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: object):
        pass


def test_a_server_that_refuses_a_field_is_asked_without_it_also_by_controls(lumos):
    """Case 15. One row alone is refused for another reason: the control that follows passes, and the row ends."""
    with ThreadingHTTPServer(("127.0.0.1", 0), ReasoningServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        solver = f"chat://127.0.0.1:{server.server_port}?model=m"
        rows = [lq.Task("gsm8k", "", "1", "Refuse", gold={"answer": "7"})]
        job = lq.evaluate(
            "gsm8k",
            rows=rows,
            formulation="direct",
            solver=solver,
            request={"max_tokens": None, "max_completion_tokens": 512},
        ).wait()
        found = evaluate(
            lumos,
            solver,
            "--request",
            "max_tokens=null",
            "--request",
            "max_completion_tokens=512",
            formulation="direct",
        )
        server.shutdown()
    assert [episode.ending for episode in job.episodes()] == ["infra_error"] and job.state == "done"
    assert found["endings"] == {"answered": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--solver", "function:tests.scripted_models:step_by_step", "--request", "a=1"),
            "takes no fields of requests",
        ),
        (("--solver", "chat://h:1?model=m", "--request", "stream=true"), "cannot set the field 'stream'"),
        (("--solver", "chat://h:1?model=m", "--request", "policy.a=1"), "No role that --request can name here"),
        (("--solver", "chat://h:1?model=m", "--stop", "", "--stop", "a"), "--stop '' means no stop strings"),
        (("--solver", "chat://h:1?model=m", "--prompt", "/dev/zero"), "is a device"),
        (("--solver", "chat://h:1?model=m", "--system", "@/no/such"), "--system: '/no/such' cannot be read"),
        (
            ("--solver", "chat://h:1?model=m", "--temperature", "nan"),
            "--temperature is nan: expected a number of at least 0.",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused_before_a_job_is_stored(lumos, options, message):
    assert message in problem(lumos, "evaluate", "wordmath", "--limit", "1", "--formulation", "direct", *options)
    assert not list(read_settings().home.glob("*.sqlite*"))


def test_a_tool_agent_gets_what_is_given_for_all(lumos):
    with FakeEndpoint(lambda prompt: "I do not know.", keep_bodies=True) as server:
        common = (
            "evaluate",
            "toolworld",
            "--split",
            "I1-inst",
            "--limit",
            "1",
            "--formulation",
            "react",
            "--setting",
            "calls=2",
            "--role",
            f"policy={server.chat}",
            "--json",
        )
        lumos(*common)
        assert {(body["temperature"], body["max_tokens"]) for body in server.bodies} == {(0.0, 1024)}
        assert all(body["stop"] == ["\nObservation:"] for body in server.bodies)
        server.bodies.clear()
        job = lumos(*common, "--temperature", "0.7", "--max-tokens", "40", "--stop", "").json["job"]
        assert {(body["temperature"], body["max_tokens"]) for body in server.bodies} == {(0.7, 40)}
        assert all("stop" not in body for body in server.bodies)
        server.bodies.clear()
        again = lumos("rerun", job, "--temperature", "0.2", "--json").json["job"]
        assert {(body["temperature"], body["max_tokens"]) for body in server.bodies} == {(0.2, 40)}
        assert stored_agent(lumos, again)["samplings"]["policy"]["stop"] == []


def test_a_rerun_keeps_what_is_stored_and_takes_every_option(lumos, server, tmp_path):
    template = tmp_path / "template.txt"
    template.write_text("Solve {question}")
    chosen = (
        "--stop",
        "Q:",
        "--system",
        "Hi.",
        "--prompt",
        str(template),
        "--request",
        "top_k=5",
        "--request",
        "seed=1",
    )
    job = evaluate(lumos, server.chat, *chosen)["job"]
    server.bodies.clear()
    template.unlink()
    lumos("rerun", job)
    body = sent(server)
    assert (body["stop"], body["top_k"], body["seed"]) == (["Q:"], 5, 1)
    assert [message["content"].split()[0] for message in body["messages"]] == ["Hi.", "Solve"]
    changed = ("--stop", "", "--system", "Yo.", "--prompt", "", "--request", "top_k=6", "--max-tokens", "8")
    other = lumos("rerun", job, *changed, "--json").json["job"]
    body = sent(server)
    assert "stop" not in body and (body["top_k"], body["seed"], body["max_tokens"]) == (6, 1, 8)
    assert body["messages"][0]["content"] == "Yo." and not body["messages"][1]["content"].startswith("Solve")
    found = lumos("report", job, other, "--json").json["reports"]
    differs = {name: (found[0]["differs"].get(name), found[1]["differs"].get(name)) for name in found[0]["differs"]}
    assert differs["stop"] == ("'Q:'", "none") and differs["system"] == ("Hi.", "Yo.")
    assert differs["request top_k"] == ("5", "6") and differs["prompt"][0] == "Solve {question}"
    compared = [one["differs"] for one in lumos("compare", job, other, "--json").json["jobs"]]
    assert [one["stop"] for one in compared] == ["'Q:'", "none"] and "stop none" in lumos("compare", job, other).out
    lumos("rerun", job, "--request", "")
    assert "top_k" not in sent(server)


def test_stop_strings_follow_another_address_unless_they_were_given(lumos, server):
    job = evaluate(lumos, server.openai)["job"]
    server.bodies.clear()
    lumos("rerun", job, "--solver", server.chat)
    assert "stop" not in sent(server)
    given = evaluate(lumos, server.openai, "--stop", "Q:")["job"]
    server.bodies.clear()
    lumos("rerun", given, "--solver", server.chat)
    assert sent(server)["stop"] == ["Q:"]


def test_a_job_of_version_2_keeps_its_stop_strings_and_has_no_instruction(lumos, server):
    job = evaluate(lumos, server.chat)["job"]
    database = open_database(read_settings().database)
    spec = lumos("job", job, "--json").json["spec"]
    spec["infer"]["formulation_version"] = 2
    spec["infer"]["agent"]["sampling"]["stop"] = LINES
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(spec=spec))
    database.close()
    server.bodies.clear()
    lumos("rerun", job)
    body = sent(server)
    assert body["stop"] == LINES and [message["role"] for message in body["messages"]] == ["user"]
    lumos("rerun", job, "--system", "Be brief.", "--stop", "")
    body = sent(server)
    assert "stop" not in body and body["messages"][0]["content"] == "Be brief."
    lumos("rerun", job, "--formulation", "cot", "--again")
    assert sent(server)["messages"][0]["content"].startswith("Think")


def test_a_planner_over_chat_and_a_grounder_over_tgi_have_their_own_stop_strings(lumos):
    with FakeEndpoint(scripted_models.step_by_step, keep_bodies=True) as server:
        lumos("evaluate", "wordmath", "--limit", "1", "--planner", server.chat, "--grounder", server.tgi)
    planned = [body for body in server.bodies if "messages" in body]
    grounded = [body for body in server.bodies if "inputs" in body]
    assert planned and all("stop" not in body for body in planned)
    assert grounded and all(body["parameters"]["stop"] == LINES for body in grounded)


def test_the_python_api_has_the_same_options(lumos, server, tmp_path):
    template = tmp_path / "template.txt"
    template.write_text("Solve {question}")
    common = {"formulation": "direct", "solver": server.chat, "limit": 1}
    request = {"top_k": 5, "max_tokens": None, "reasoning_effort": "low"}
    lq.evaluate("wordmath", **common, stop="Q:", system="Hi.", prompt=template, request=request).wait()
    body = sent(server)
    assert (body["stop"], body["top_k"], body["reasoning_effort"]) == (["Q:"], 5, "low") and "max_tokens" not in body
    assert [message["content"].split()[0] for message in body["messages"]] == ["Hi.", "Solve"]
    lq.infer("wordmath", **common, stop=["\n", "\t"], temperature=0.5).wait()
    body = sent(server)
    assert (body["stop"], body["temperature"]) == (["\n", "\t"], 0.5)
    with pytest.raises(lq.SpecError, match="expected a mapping"):
        lq.evaluate("wordmath", **common, request=["top_k=5"])  # pyright: ignore[reportArgumentType]


def test_a_function_gets_no_stop_string(lumos):
    job = lq.evaluate("wordmath", formulation="cot", solver=lambda prompt: "One.\nThe answer is 7.", limit=1).wait()
    (episode,) = job.episodes()
    assert episode.answer == "7" and json.dumps(episode.steps[0].result.text) == '"One.\\nThe answer is 7."'

"""Who holds which connection, and which one is closed for a new one."""

from __future__ import annotations

import subprocess
import sys

from lumos_queue.util.connection_counts import Connections, OpenConnection
from lumos_queue.util.connection_limits import SPARE_FILES, Limits
from tests.conftest import ROOT


class Holder:
    """Connections that tests open, with the names of those that were closed."""

    def __init__(self, **limits: int):
        self.connections, self.closed = Connections(Limits(**limits)), []

    def open(self, name: str, address: str) -> OpenConnection:
        connection = OpenConnection(lambda: self.closed.append(name))
        self.connections.add(connection, address)
        return connection


def test_at_the_limit_of_an_address_its_oldest_connection_is_closed_for_the_new_one():
    holder = Holder(of_address=3)
    holder.open("elsewhere", "b")
    for number in range(5):
        holder.open(str(number), "a")
    assert holder.closed == ["0", "1"]
    assert (holder.connections.count_address("a"), len(holder.connections)) == (3, 4)


def test_at_the_limit_of_all_the_oldest_connection_without_a_session_is_closed():
    holder = Holder(connections=4, of_address=2, of_person=4)
    assert holder.connections.assign_person(holder.open("person", "a"), "anna")
    for number in range(20):
        holder.open(str(number), f"address {number}")
    assert holder.closed == [str(number) for number in range(17)] and len(holder.connections) == 4
    assert holder.connections.count_person("anna") == 1


def test_a_request_that_has_arrived_is_closed_last():
    holder = Holder(of_address=2)
    holder.open("first", "a").is_answering = True
    holder.open("second", "a")
    holder.open("third", "a").is_answering = True
    assert holder.closed == ["second"]
    holder.open("fourth", "a")
    assert holder.closed == ["second", "first"]


def test_a_person_has_a_limit_and_all_people_leave_room_for_an_address():
    holder = Holder(connections=10, of_address=4, of_person=4)
    assert all(holder.connections.assign_person(holder.open(str(i), "a"), "anna") for i in range(4))
    fifth = holder.open("fifth", "a")
    assert not holder.connections.assign_person(fifth, "anna") and holder.connections.count_address("a") == 1
    assert holder.connections.assign_person(fifth, "bob")
    assert holder.connections.assign_person(holder.open("sixth", "a"), "bob")
    assert not holder.connections.assign_person(holder.open("seventh", "a"), "bob"), "four are left for logins"
    for number in range(8):
        holder.open(f"stranger {number}", "c")
    assert len(holder.connections) == 10 and all(name.startswith(("str", "sev")) for name in holder.closed)


def test_a_connection_counts_for_whoever_uses_it_now():
    holder = Holder(of_address=1)
    proxied, counts = holder.open("proxied", ""), holder.connections
    assert counts.count_address("") == 0
    counts.assign_address(proxied, "a")
    assert counts.assign_person(proxied, "anna") and counts.assign_person(proxied, "anna")
    assert (counts.count_address("a"), counts.count_person("anna")) == (0, 1)
    direct = holder.open("direct", "a")
    counts.assign_address(proxied, "a")
    assert holder.closed == ["direct"] and counts.count_person("anna") == 0
    counts.assign_address(proxied, "")
    for connection in (proxied, direct, proxied):
        counts.remove(connection)
    counts.assign_address(direct, "a")
    assert not counts.assign_person(direct, "anna")
    assert len(counts) == counts.count_address("a") == 0


def test_the_limits_fit_the_files_that_a_process_may_open():
    usual = Limits()
    assert usual.within_files(usual.connections + SPARE_FILES) == usual
    few = usual.within_files(256)
    assert (few.connections, few.of_address, few.of_person) == (64, 16, 16)
    for files in (8, 64, 300, 1_024, 10**6):
        assert 0 < usual.within_files(files).connections <= min(files, usual.connections)


def test_the_limit_of_files_is_raised_as_far_as_the_system_allows():
    program = (
        "import resource, sys\n"
        "from lumos_queue.util.connection_limits import allow_connections\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, int(sys.argv[1])))\n"
        "print(allow_connections(300), resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
    )
    for hard, output in (("400", "400 400"), ("2000", "500 500")):
        command = [sys.executable, "-c", program, hard]
        run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
        assert run.stdout.strip() == output

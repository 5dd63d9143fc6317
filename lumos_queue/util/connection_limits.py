"""Limits of connections and requests, for both servers: `lumos web` (the explorer) and `lumos serve`."""

from __future__ import annotations

import resource
from dataclasses import dataclass, replace

KIB, MIB = 2**10, 2**20
SPARE_FILES = 200  #: files that are no connections of clients: of the database, logs, and child processes
BACKLOG = 1_024  #: connections that the system accepts ahead of the server


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the explorer. An address is an IPv4 address or a /64 network of IPv6."""

    connections: int = 1_000
    of_address: int = 64  #: connections of an address without a session
    of_person: int = 100  #: connections of a person, with live pages

    request_bytes: int = 64 * KIB  #: of a request without a session, and of the head of every request
    headers: int = 200  #: of a request
    request_seconds: float = 10.0  #: from the connection to the last byte, TLS included; of a head after a login too
    body_bytes: int = 4 * MIB  #: of a body with a session
    upload_bytes: int = 20 * MIB  #: of a body that uploads labels
    body_seconds: float = 60.0  #: from the head to the last byte of a body with a session
    bodies_of_person: int = 2  #: bodies that do not arrive together with their head, at once
    pipeline: int = 4  #: requests that wait for the answer to an earlier request of their connection
    answers_of_person: int = 10  #: requests of a person that are answered at once; live pages do not count
    answers_of_address: int = 8  #: requests without a session of an address that are answered at once
    answers_of_strangers: int = 24  #: requests without a session that are answered at once; threads remain for people

    answer_seconds: float = 30.0  #: in which a client receives an answer, besides the time by `answer_rate`
    answer_rate: int = 16 * KIB  #: bytes a second that a client must receive
    shutdown_seconds: float = 5.0  #: for the end of a TLS connection

    def within_files(self, files: int) -> Limits:
        """Return the limits for a process that may open `files` files. A quarter of them is always for connections."""
        total = min(self.connections, max(files - SPARE_FILES, files // 4))
        return replace(
            self,
            connections=total,
            of_address=min(self.of_address, max(total // 4, 1)),
            of_person=min(self.of_person, max(total // 4, 1)),
        )


class ServeLimits:
    """The limits of `lumos serve`, which has no sessions; `Limits` has those of connections."""

    discarded_bytes = 16 * MIB  #: of a body that is too large; they are received so that the sender reads the error
    head_bytes = 16 * KIB
    head_seconds = 30.0  #: for receiving a head, also of the next request on a connection
    body_bytes = 1 * MIB  #: of a request to a virtual API server
    body_seconds = 15.0  #: for receiving a whole body
    answer_seconds = 30.0  #: for sending an answer
    end_seconds = 0.5  #: for closing connections when the server stops


def allow_connections(count: int) -> int:
    """Raise the limit of open files to what `count` connections need. Return the number of files that may be open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = count + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= target:
        return target
    limit = target if hard == resource.RLIM_INFINITY else min(target, hard)
    if limit > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return max(limit, soft)

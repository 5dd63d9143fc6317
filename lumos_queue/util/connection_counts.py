"""Open connections, and who holds them: a person, or an address without a session.

An address never locks out the people who share it, and strangers never lock out anybody: at a limit, the oldest
connection without a session is closed for a new one. Not for use from several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from lumos_queue.util.connection_limits import Limits


class OpenConnection:
    """An open connection. It begins without a session."""

    def __init__(self, close: Callable[[], None], check: Callable[[float], None] | None = None):
        """`close`: closes it at once. `check`: closes it if its time is over; the argument is the time of the loop."""
        self.close, self.check = close, check
        self.address = ""  #: that it counts for; '' for a connection of a proxy before its next head, or of a person
        self.person = ""  #: that it counts for; '' without a session
        self.is_answering = False  #: whether a whole request has arrived, and its answer has not been sent


_Group = dict[OpenConnection, None]  # in the order in which they began to count for it


class Connections:
    """All open connections of a server, within its limits."""

    def __init__(self, limits: Limits | None = None):
        self.limits = limits or Limits()
        self._all: _Group = {}
        self._strangers: _Group = {}  # without a session
        self._addresses: dict[str, _Group] = {}
        self._people: dict[str, _Group] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[OpenConnection]:
        return iter(tuple(self._all))

    def count_address(self, address: str) -> int:
        return len(self._addresses.get(address, ()))

    def count_person(self, person: str) -> int:
        return len(self._people.get(person, ()))

    def add(self, connection: OpenConnection, address: str) -> None:
        """Count a new connection for an address; '' for a proxy. Closes the oldest where a limit is reached."""
        self._make_room(address)
        if len(self._all) >= self.limits.connections:
            self._close(_oldest(self._strangers))
        self._all[connection] = None
        self._join(connection, address)

    def assign_address(self, connection: OpenConnection, address: str) -> None:
        """Count the connection for an address from now on; '' for a proxy. It has no session."""
        if connection not in self._all or (not connection.person and connection.address == address):
            return
        self._leave(connection)
        self._make_room(address)
        self._join(connection, address)

    def assign_person(self, connection: OpenConnection, person: str) -> bool:
        """Count the connection for a person from now on. Returns False, without a change, where a limit is reached.

        The connections of all people leave room for those of one address, so that everybody can log in.
        """
        if connection not in self._all:
            return False
        if connection.person == person:
            return True
        with_session = len(self._all) - len(self._strangers) + (not connection.person)
        if self.count_person(person) >= self.limits.of_person or (
            with_session > self.limits.connections - self.limits.of_address
        ):
            return False
        self._leave(connection)
        connection.person = person
        self._people.setdefault(person, {})[connection] = None
        return True

    def remove(self, connection: OpenConnection) -> None:
        """Count the connection no longer, because it is closed."""
        if connection in self._all:
            del self._all[connection]
            self._leave(connection)

    def _make_room(self, address: str) -> None:
        if address and self.count_address(address) >= self.limits.of_address:
            self._close(_oldest(self._addresses[address]))

    def _join(self, connection: OpenConnection, address: str) -> None:
        connection.address = address
        self._strangers[connection] = None
        if address:
            self._addresses.setdefault(address, {})[connection] = None

    def _leave(self, connection: OpenConnection) -> None:
        self._strangers.pop(connection, None)
        for groups, name in ((self._addresses, connection.address), (self._people, connection.person)):
            if name:
                del groups[name][connection]
                if not groups[name]:
                    del groups[name]
        connection.address = connection.person = ""

    def _close(self, connection: OpenConnection | None) -> None:
        if connection:
            self.remove(connection)
            connection.close()


def _oldest(connections: Collection[OpenConnection]) -> OpenConnection | None:
    """Return the oldest connection, of those that are not being answered if there are any."""
    return _first(item for item in connections if not item.is_answering) or _first(connections)


def _first(connections: Iterable[OpenConnection]) -> OpenConnection | None:
    return next(iter(connections), None)

import amqp
import kombu.message
from kombu.transport.base import StdChannel

class Message(kombu.message.Message):
    def __init__(self, msg: amqp.Message, channel: StdChannel | None = ...) -> None: ...

class Channel(StdChannel):
    Message: type[Message]

class Connection:
    Channel: type[Channel]

class Transport:
    Connection: type[Connection]

class SSLTransport(Transport): ...

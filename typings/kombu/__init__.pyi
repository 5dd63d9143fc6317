from kombu.connection import Connection as Connection
from kombu.entity import Exchange as Exchange, Queue as Queue
from kombu.messaging import Consumer as Consumer, Producer as Producer

class Message:
    properties: dict[str, object]

from typing import ClassVar

class Blueprint:
    default_steps: ClassVar[list[str]]

class StartStopStep:
    def __init__(self, parent: object, **kwargs: object) -> None: ...

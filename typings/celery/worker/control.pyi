from collections.abc import Callable

class Panel:
    data: dict[str, Callable[..., object]]

def ok(value: object) -> dict[str, object]: ...
def nok(value: object) -> dict[str, object]: ...

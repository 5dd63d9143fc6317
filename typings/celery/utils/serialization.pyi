from collections.abc import Callable

# The value as JSON: the value itself, or a copy.
def jsonify(
    obj: object,
    *,
    keyfilter: Callable[[object], bool] | None = ...,
    unknown_type_filter: Callable[[object], object] | None = ...,
) -> object: ...

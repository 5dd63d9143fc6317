"""Functions that pseudo-code may call. Their arguments are lists, single values, or a mixture of them."""

from __future__ import annotations

#: The name in pseudo-code, in small letters, to the function below or Python's own.
HELPERS = {
    "sum": "_sum",
    "total": "_sum",
    "len": "_len",
    "length": "_len",
    "count": "_count",
    "min": "_min",
    "minimum": "_min",
    "max": "_max",
    "maximum": "_max",
    "sort": "_sort",
    "sorted": "_sort",
    "mean": "_mean",
    "average": "_mean",
    "mod": "_mod",
    "abs": "abs",
    "round": "round",
    "int": "int",
    "floor": "math.floor",
    "ceil": "math.ceil",
    "ceiling": "math.ceil",
    "sqrt": "math.sqrt",
    "factorial": "math.factorial",
    "gcd": "math.gcd",
    "lcm": "math.lcm",
}

PRELUDE = """
import math

def _flat(values):
    found = []
    for one in values:
        if isinstance(one, (list, tuple, set, range)):
            found.extend(_flat(one))
        else:
            found.append(one)
    return found

def _sum(*values):
    return sum(_flat(values))

def _len(*values):
    return len(values[0]) if len(values) == 1 else len(_flat(values))

def _count(*values):
    if len(values) == 2 and isinstance(values[0], (list, tuple, str)):
        return values[0].count(values[1])
    return _len(*values)

def _min(*values):
    return min(_orderable(_flat(values)))

def _max(*values):
    return max(_orderable(_flat(values)))

def _sort(*values):
    return sorted(_orderable(_flat(values)))

def _mean(*values):
    return _sum(*values) / len(_flat(values))

def _mod(left, right):
    return left % right
"""

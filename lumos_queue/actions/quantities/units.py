"""Units of length, weight, time and so on. pint converts the numbers of two quantities with different units.

Only the units in this module are known, because pint takes `cats` for hundredths of technical atmospheres.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from lumos_queue.actions.quantities.kinds import Quantity

#: Words of one or two letters that are units; others (`am`, `pm`, `bn`) mostly are no units.
SHORT = frozenset("m km cm mm kg g mg lb oz ft in mi yd ha l ml h hr yr s".split())  # noqa: SIM905
_LISTED = (
    "meter metre kilometer kilometre centimeter centimetre millimeter millimetre inch foot feet yard mile fathom "
    "furlong parsec nautical_mile light_year gram kilogram milligram tonne metric_ton short_ton long_ton pound lbs "
    "ounce troy_ounce stone second minute hour day week fortnight month year century millennium hrs min mins sec secs "
    "acre hectare liter litre milliliter millilitre imperial_gallon knot mph kph watt kilowatt megawatt gigawatt "
    "joule kilojoule volt"
)
_PLAIN = SHORT.union(_LISTED.split())
#: Words that have another name in pint, or mean more than one unit.
_NAMES = {
    "decade": ("dekayear",),
    "in": ("inch",),
    "mi": ("mile",),
    "yr": ("year",),
    "yrs": ("year",),
    "centuries": ("century",),
    "millennia": ("millennium",),
    "inches": ("inch",),
    "kilo": ("kilogram",),
    "°c": ("degC",),
    "°f": ("degF",),
    "celsius": ("degC",),
    "fahrenheit": ("degF",),
    "degree_celsius": ("degC",),
    "degree_fahrenheit": ("degF",),
    "degrees_celsius": ("degC",),
    "degrees_fahrenheit": ("degF",),
    "us_gallon": ("gallon",),
    "ton": ("short_ton", "long_ton", "metric_ton"),
    "gallon": ("gallon", "imperial_gallon"),
    "quart": ("quart", "imperial_quart"),
    "pint": ("pint", "imperial_pint"),
    "cup": ("cup", "imperial_cup"),
    "fluid_ounce": ("fluid_ounce", "imperial_fluid_ounce"),
}
_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3, "squared": 2, "cubed": 3, "²": 2, "³": 3}
#: Words behind a unit that do not change it.
BEHIND_A_UNIT = frozenset("tall long high wide deep old away above below across apart thick ago from".split())  # noqa: SIM905
_WORD = re.compile(r"°?\s?[^\W\d_²³]+|[²³]")
#: What a unit beside a bare number may mean: per cent are points or hundredths, `m` metres or million.
_BESIDE_BARE = {"%": (Fraction(1), Fraction(1, 100)), "m": (Fraction(1), Fraction(10**6))}


def readings(first: Quantity, second: Quantity) -> list[tuple[Fraction, Fraction]]:
    """Return the two numbers in a common unit, as a pair for each meaning that the units may have.

    If the units are the same or one is missing, the numbers stay unchanged; beside a number without a unit, `%` and `m`
    have a second meaning. [] if the units are different and one is unknown, or they measure different things.
    """
    if same_unit(first.unit, second.unit):
        return [(first.number, second.number)]
    if not first.unit or not second.unit:
        left_factors, right_factors = (_BESIDE_BARE.get(unit, (Fraction(1),)) for unit in (first.unit, second.unit))
        return [
            (first.number * left_factor, second.number * right_factor)
            for left_factor in left_factors
            for right_factor in right_factors
        ]
    pairs = []
    for first_unit in _units(first.unit):
        for second_unit in _units(second.unit):
            if not first_unit.is_compatible_with(second_unit):
                return []
            measure = _registry().Quantity
            pairs.append((first.number, Fraction(measure(second.number, second_unit).to(first_unit).magnitude)))
    return pairs


def same_unit(first: str, second: str) -> bool:
    """Return whether two units have the same name, in the singular or in the plural."""
    return _singular(first.casefold().rstrip(".")) == _singular(second.casefold().rstrip("."))


def is_open(unit: str) -> bool:
    """Return whether a unit (`%` or `m`) is ambiguous in a comparison with a number without a unit."""
    return unit in _BESIDE_BARE


def measures_time(unit: str) -> bool:
    """Return whether the unit is a known unit of time."""
    return any(candidate.is_compatible_with("year") for candidate in _units(unit))


def is_temperature(unit: str) -> bool:
    """Return whether the unit is a known unit of temperature, whose numbers cannot be added or multiplied."""
    return any(candidate.is_compatible_with("kelvin") for candidate in _units(unit))


def _singular(text: str) -> str:
    return text[:-1] if len(text) > 2 and text.endswith("s") and not text.endswith("ss") else text


@cache
def _registry() -> Any:
    import pint  # here, because it takes half a second, and most formulas have one unit or none

    return pint.UnitRegistry(non_int_type=Fraction)  # pyright: ignore[reportArgumentType]  (any number type will do)


@lru_cache(4096)
def _units(text: str) -> tuple[Any, ...]:
    """Return the meanings of a unit such as `metres tall`, `square miles` or `km/h`; () if it is unknown."""
    words = [word.replace(" ", "") for word in _WORD.findall(re.sub(r"/|\ban?\b", " per ", text.casefold()))]
    end = next((index for index, word in enumerate(words) if index and word in BEHIND_A_UNIT), len(words))
    words = words[:end]
    if "per" not in words:
        return _powers(words)
    index = words.index("per")
    return _without_temperatures(
        over / under for over in _powers(words[:index]) for under in _powers(words[index + 1 :])
    )


def _powers(words: list[str]) -> tuple[Any, ...]:
    power = 1
    for index in (0, -1):
        if len(words) > 1 and words[index] in _POWERS:
            power, words = _POWERS[words[index]], words[1:] if index == 0 else words[:-1]
            break
    units = _find_units("_".join(words))
    return _without_temperatures(unit**power for unit in units) if power > 1 else units


def _without_temperatures(units: Iterable[Any]) -> tuple[Any, ...]:
    """Return the units without temperatures: pint refuses degrees per hour, because they have no zero point."""
    return tuple(unit for unit in units if "[temperature]" not in unit.dimensionality)


def _find_units(name: str) -> tuple[Any, ...]:
    for word in (name, name.removesuffix("s"), name.removesuffix("es")):
        if word in _NAMES:
            return tuple(_registry().Unit(unit) for unit in _NAMES[word])
        if word in _PLAIN:
            return (_registry().Unit(word),)
    return ()

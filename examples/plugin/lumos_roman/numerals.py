"""Roman numerals from I to MMMCMXCIX."""

_LETTERS = {
    "M": 1000,
    "CM": 900,
    "D": 500,
    "CD": 400,
    "C": 100,
    "XC": 90,
    "L": 50,
    "XL": 40,
    "X": 10,
    "IX": 9,
    "V": 5,
    "IV": 4,
    "I": 1,
}


def write(number: int) -> str:
    """Raises ValueError for a number that has no numeral."""
    if not 0 < number < 4000:
        raise ValueError(f"{number} has no numeral: expected a number from 1 to 3999")
    text = ""
    for letters, value in _LETTERS.items():
        text, number = text + letters * (number // value), number % value
    return text


def read(text: str) -> int:
    """Raises ValueError for a text that is not a numeral as it is usually written."""
    number, rest = 0, text
    for letters, value in _LETTERS.items():
        while rest.startswith(letters):
            number, rest = number + value, rest.removeprefix(letters)
    if rest or not number or write(number) != text:
        raise ValueError(f"'{text[:20]}' is not a Roman numeral such as XIV")
    return number

"""The values of a push's payload, as every reader of Postrider gives them (docs/reference/postriderkit.md).

Python's own json gives lone surrogates and infinite floats, which cannot be written out again.
"""
import json
import math
import re

DEEPEST = 64


def read(payload):
    """The JSON object that these bytes are, as a dictionary; ValueError where they are none."""
    text = bytes(payload).decode("utf-8")
    try:
        value = json.loads(text, parse_int=integer, parse_float=real, parse_constant=refuse)
    except RecursionError:
        raise ValueError("the payload is too deep") from None
    if not isinstance(value, dict):
        raise ValueError("the payload is no JSON object")
    return readable(value, DEEPEST)


def integer(text):
    """An integer where 64 bits hold it, signed or not; else as any other number."""
    if len(text) <= 20 and -2**63 <= int(text) < 2**64:
        return int(text)
    return real(text)


def real(text):
    """A float, or the text where it is too large for one."""
    return float(text) if math.isfinite(float(text)) else text


def refuse(word):
    raise ValueError(f"{word} is no JSON")


def readable(value, depth):
    """The value with U+FFFD for each half of a surrogate pair, in names too."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, (dict, list)) and depth == 0:
        raise ValueError("the payload is too deep")
    if isinstance(value, dict):
        return {readable(name, depth): readable(member, depth - 1) for name, member in value.items()}
    if isinstance(value, list):
        return [readable(element, depth - 1) for element in value]
    return value

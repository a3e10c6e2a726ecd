"""Reads the values of a push's payload, as every reader in Postrider does (docs/reference/postriderkit.md).

Python's own json returns lone surrogates and infinite floats, which cannot be written again.
"""
import json
import math
import re

DEEPEST = 64


def read(payload):
    """Returns the JSON object in these bytes as a dictionary; raises ValueError if there is none."""
    text = bytes(payload).decode("utf-8")
    try:
        value = json.loads(text, parse_int=integer, parse_float=real, parse_constant=refuse)
    except RecursionError:
        raise ValueError("the payload is too deep") from None
    if not isinstance(value, dict):
        raise ValueError("the payload is no JSON object")
    return readable(value, DEEPEST)


def integer(text):
    """Returns an integer if 64 bits can hold it, signed or unsigned; otherwise a value like that of any other number."""
    if len(text) <= 20 and -2**63 <= int(text) < 2**64:
        return int(text)
    return real(text)


def real(text):
    """Returns a float, or the text if the number is too large for a float."""
    return float(text) if math.isfinite(float(text)) else text


def refuse(word):
    raise ValueError(f"{word} is no JSON")


def readable(value, depth):
    """Returns the value with U+FFFD in place of each lone surrogate, in names too."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, (dict, list)) and depth == 0:
        raise ValueError("the payload is too deep")
    if isinstance(value, dict):
        return {readable(name, depth): readable(member, depth - 1) for name, member in value.items()}
    if isinstance(value, list):
        return [readable(element, depth - 1) for element in value]
    return value

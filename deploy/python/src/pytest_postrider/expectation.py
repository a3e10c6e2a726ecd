"""The comparison of what came with what a test expects."""

import json

_MISSING = object()


class Expectable:
    """Something that came, whose properties a test can compare. A subclass has a ``title`` for the message."""

    def differences(self, **fields):
        """Returns a line for each difference from these fields. Objects may have further members."""
        lines = []
        for name, expected in fields.items():
            if not isinstance(getattr(type(self), name, None), property):
                raise TypeError(f"a {type(self).__name__.lower()} has no {name}")
            _compare(name, expected, getattr(self, name), lines)
        return lines

    def expect(self, **fields):
        """Fails if a field differs."""
        __tracebackhide__ = True
        lines = self.differences(**fields)
        if lines:
            raise AssertionError("\n".join([f"{self.title} is otherwise:", *lines, "it was:", str(self)]))


def _compare(path, expected, got, lines):
    if isinstance(expected, dict) and isinstance(got, dict):
        for name, value in expected.items():
            _compare(f"{path}.{name}", value, got.get(name, _MISSING), lines)
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for index, value in enumerate(expected):
            _compare(f"{path}[{index}]", value, got[index], lines)
    elif expected != got or isinstance(expected, bool) != isinstance(got, bool):
        lines.append(f"- {path}: {_text(expected)}")
        lines.append(f"+ {path}: {'(missing)' if got is _MISSING else _text(got)}")


def _text(value):
    return json.dumps(value, ensure_ascii=False, default=repr)

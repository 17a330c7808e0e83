"""Records to plain JSON values and back, every field checked against its declared type."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from reprlib import repr as brief
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

Record = TypeVar("Record")
_Reader = Callable[[object], object]


class MisfitError(ValueError):
    """A value that is not what its field declares; `str` tells where, the rule and what was found."""

    def __init__(self, rule: str, found: str, path: str = "") -> None:
        """Say the rule and what was found; the path grows while the error travels up."""
        super().__init__(rule, found, path)
        self.rule, self.found, self.path = rule, found, path

    def inside(self, part: str) -> MisfitError:
        """Return the same misfit seen from one level further out."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        return MisfitError(self.rule, self.found, part + joint + self.path)

    def __str__(self) -> str:
        """Where, the rule, what was found."""
        return f"{self.path or 'the value'} must be {self.rule}, found {self.found}"


def pack(value: object) -> dict[str, object]:
    """Hand `json` the fields of a record; meant for `json.dumps(record, default=pack)`.

    Fields marked as sparse are left out where they hold their default.

    Raises:
        MisfitError: the value is no record.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if not is_dataclass(value):
        rule = "a record or a plain value (convert arrays and tensors first)"
        raise MisfitError(rule, f"a {type(value).__name__}")
    items = {field.name: getattr(value, field.name) for field in fields(value)}
    for name, default in _sparse(cast("Any", type(value))).items():
        if items[name] == default:
            del items[name]
    return items


def unpack(kind: type[Record], plain: object) -> Record:
    """Build a record from plain JSON values.

    Lists become tuples, also inside free mappings, as records hold no lists.

    Args:
        kind: the record class; its annotations decide what is accepted.
        plain: what `json` read.

    Returns:
        The record, types checked, its rules of integrity not.

    Raises:
        MisfitError: a field is missing, unknown, or of another type than declared.
    """
    return cast("Record", _reader(cast("Any", kind))(plain))


@cache
def _reader(kind: Any) -> _Reader:
    """Return the function that reads one declared type."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    if is_dataclass(kind):
        return partial(_read_record, kind)
    outer, inner = get_origin(kind), get_args(kind)
    if outer is tuple and inner[1:] == (...,):
        return partial(_read_tuple, _reader(inner[0]))
    if outer is Mapping and inner[0] is str:
        return partial(_read_mapping, _reader(inner[1]))
    raise TypeError(f"Records hold scalars, tuples of one type, mappings from text and records, not {kind}.")


@cache
def _field_readers(kind: Any) -> dict[str, _Reader]:
    hints = get_type_hints(kind)
    return {field.name: _reader(hints[field.name]) for field in fields(kind)}


@cache
def _sparse(kind: Any) -> dict[str, object]:
    """Fields that may be missing, with what they hold then."""
    return {field.name: field.default for field in fields(kind) if field.metadata.get("sparse")}


def _read_record(kind: Any, plain: object) -> object:
    if not isinstance(plain, dict):
        raise MisfitError("an object", _found(plain))
    readers = _field_readers(kind)
    if odd := sorted((plain.keys() ^ readers.keys()) - (_sparse(kind).keys() - plain.keys())):
        raise MisfitError(f"an object with the fields {', '.join(readers)}", _odd_field(odd[0], plain))
    return kind(**_read_items(plain, readers.__getitem__))


def _read_mapping(read: _Reader, plain: object) -> object:
    if not isinstance(plain, dict):
        raise MisfitError("an object", _found(plain))
    return _read_items(plain, lambda _: read)


def _read_items(plain: dict[str, object], reader: Callable[[str], _Reader]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, item in plain.items():
        try:
            values[name] = reader(name)(item)
        except MisfitError as misfit:
            raise misfit.inside(name[:40]) from None
    return values


def _read_tuple(read: _Reader, plain: object) -> tuple[object, ...]:
    if not isinstance(plain, list):
        raise MisfitError("a list", _found(plain))
    values: list[object] = []
    try:
        for item in plain:
            values.append(read(item))  # noqa: PERF401  (the index of a misfit is len(values))
    except MisfitError as misfit:
        raise misfit.inside(f"[{len(values)}]") from None
    return tuple(values)


def _read_int(plain: object) -> int:
    if not isinstance(plain, int) or isinstance(plain, bool):
        raise MisfitError("an integer", _found(plain))
    if not -(2**63) <= plain < 2**64:
        raise MisfitError("an integer of 64 bits", f"one of {plain.bit_length()} bits")
    return plain


def _read_float(plain: object) -> float:
    number = plain if isinstance(plain, float) else float(_read_number(plain))
    if not math.isfinite(number):
        raise MisfitError("a finite number", _found(plain))
    return number


def _read_number(plain: object) -> int:
    try:
        return _read_int(plain)
    except MisfitError as misfit:
        raise MisfitError("a number", misfit.found) from None


def _read_str(plain: object) -> str:
    if not isinstance(plain, str):
        raise MisfitError("text", _found(plain))
    return plain


def _read_free(plain: object) -> object:
    """Read a value of no declared type: scalars, tuples and mappings of such."""
    if plain is None or isinstance(plain, bool | str):
        return plain
    if isinstance(plain, list):
        return _read_tuple(_read_free, plain)
    if isinstance(plain, dict):
        return _read_mapping(_read_free, plain)
    return _read_float(plain) if isinstance(plain, float) else _read_int(plain)


_SCALARS: Mapping[Any, _Reader] = {int: _read_int, float: _read_float, str: _read_str, object: _read_free}


def _odd_field(name: str, plain: dict[str, object]) -> str:
    return f"an unknown field {brief(name)}" if name in plain else f"no {name!r}"


def _found(plain: object) -> str:
    return f"{brief(plain)} ({type(plain).__name__})"

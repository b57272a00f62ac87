"""Binary layouts as plain field tables: the one source of the RTL's structs, numpy's encoders and the documentation."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


class LayoutError(ValueError):
    """A value does not fit its field, or bytes do not fit their layout."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of a layout.

    Parameters
    ----------
    name : str
        Name; empty for reserved bits, which are written as zero and ignored when read.
    bits : int
        Width of one element.
    count : int, optional
        Elements of an array, from low to high, each of whole bytes; a plain number without it.
    meaning : str
        What the field says, with its unit.
    """

    name: str
    bits: int
    count: int | None = None
    meaning: str = ""

    @property
    def total_bits(self) -> int:
        """Width of all elements together."""
        return self.bits * (1 if self.count is None else self.count)


@dataclass(frozen=True)
class Layout:
    """A record of fields, packed from the lowest bit up, little-endian, padded to whole bytes.

    Parameters
    ----------
    name : str
        Name of the record.
    fields : tuple of Field
        Fields from low to high. A plain field lies within one aligned 64-bit word; an array starts on a byte.
    """

    name: str
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        for field, offset in self.placed():
            word_bits = 64 - offset % 64
            if field.count is None and field.bits > word_bits:
                raise LayoutError(f"{self.name}.{field.name}: {field.bits} bits at bit {offset} cross a 64-bit word")
            if field.count is not None and (offset % 8 or field.bits not in (8, 16, 32, 64)):
                raise LayoutError(f"{self.name}.{field.name}: an array needs whole bytes and a byte boundary")

    @property
    def bits(self) -> int:
        """Width of the record in bits."""
        return sum(field.total_bits for field in self.fields)

    @property
    def bytes(self) -> int:
        """Size of the record in memory."""
        return -(-self.bits // 8)

    def placed(self) -> list[tuple[Field, int]]:
        """Return each field with its offset in bits."""
        offsets = np.cumsum([0, *(field.total_bits for field in self.fields)])
        return [(field, int(offset)) for field, offset in zip(self.fields, offsets, strict=False)]

    def encode(self, count: int, values: Mapping[str, ArrayLike]) -> NDArray[np.uint8]:
        """Encode `count` records.

        Parameters
        ----------
        count : int
            Records to make.
        values : mapping of str to array_like
            One value or `count` values for each named field, shape [count, field.count] for arrays; zero if missing.

        Returns
        -------
        ndarray of uint8, shape [count, bytes]
            The records.

        Raises
        ------
        LayoutError
            A field is unknown, or a value does not fit; the message names field, value, record and range.
        """
        names = [field.name for field in self.fields if field.name]
        for name in values:
            if name not in names:
                raise LayoutError(f"{self.name} has no field {name!r}; its fields are {', '.join(names)}")
        out = np.zeros((count, -(-self.bits // 64) * 8), np.uint8)
        words = out.view("<u8")
        for field, offset in self.placed():
            if field.name not in values:
                continue
            shape = (count,) if field.count is None else (count, field.count)
            number = np.broadcast_to(np.asarray(values[field.name]), shape)
            self._check(field, number)
            if field.count is None:
                words[:, offset // 64] |= number.astype(np.uint64) << np.uint64(offset % 64)
            else:
                elements = np.ascontiguousarray(number, f"<u{field.bits // 8}")
                out[:, offset // 8 : (offset + field.total_bits) // 8] = elements.view(np.uint8)
        return np.ascontiguousarray(out[:, : self.bytes])

    def _check(self, field: Field, number: NDArray[np.generic]) -> None:
        if number.size and number.dtype.kind not in "biu":
            raise LayoutError(f"{self.name}.{field.name} is {number.flat[0]!r}: not a whole number of up to 64 bits")
        if number.dtype.kind == "u" and 8 * number.itemsize <= field.bits:
            return
        top = (1 << field.bits) - 1
        bad = np.argwhere((number < 0) | (number > top))  # type: ignore[operator]
        if bad.size:
            place = tuple(bad[0])
            raise LayoutError(
                f"{self.name}.{field.name} is {number[place]} in record {place[0]}; {field.bits} bits hold 0 to {top}"
            )

    def decode(self, records: NDArray[np.uint8]) -> dict[str, NDArray[np.unsignedinteger]]:
        """Decode records.

        Parameters
        ----------
        records : ndarray of uint8, shape [count, bytes]
            The records.

        Returns
        -------
        dict of str to ndarray
            Each named field: uint64 of shape [count], or for arrays unsigned integers of shape [count, field.count].
        """
        if records.ndim != 2 or records.shape[1] != self.bytes:
            raise LayoutError(
                f"{self.name} records have {self.bytes} bytes each; got an array of shape {records.shape}"
            )
        padded = np.zeros((len(records), -(-self.bits // 64) * 8), np.uint8)
        padded[:, : self.bytes] = records
        words = padded.view("<u8")
        out: dict[str, NDArray[np.unsignedinteger]] = {}
        for field, offset in self.placed():
            if not field.name:
                continue
            if field.count is not None:
                part = padded[:, offset // 8 : offset // 8 + field.total_bits // 8]
                out[field.name] = np.ascontiguousarray(part).view(f"<u{field.bits // 8}")
            else:
                mask = np.uint64((1 << field.bits) - 1)
                out[field.name] = (words[:, offset // 64] >> np.uint64(offset % 64)) & mask
        return out


def check_length(stream: str, needed: int, given: int) -> None:
    """Refuse a trace whose streams do not fit its commands.

    Parameters
    ----------
    stream : str
        Name of the stream.
    needed, given : int
        Beats that the commands ask for, and beats that there are.

    Raises
    ------
    ValueError
        They differ.
    """
    if needed != given:
        raise ValueError(f"{stream}: the commands take {needed} beats, but the trace holds {given}")

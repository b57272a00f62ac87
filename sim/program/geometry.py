"""How vectors and lists lie in the memory of a DIMM: sizes shared by golden model, RTL and timing model."""

from typing import NamedTuple

from sim.config import ConfigError, SystemConfig
from sim.program.engine_commands import SHARD_DESCRIPTOR
from sim.program.layout import LayoutError
from sim.program.memory import DRAM_REQUEST

KINDS = 8
"""Kinds of vector that a vertex can have (feature, a, z, h, delta, ...): the three lowest row bits. Source: GNNear's
artifact."""
LIST_KIND = KINDS - 1
"""The last kind is no vector's: its rows hold descriptors, source records and edge records."""
CHUNK_LINES = 4
"""Lines of a chunk: lists begin at chunks, and are fetched a chunk at a time. Source: assumption (one row opened for
four bursts, as for a gather of 256 bytes)."""

MOST_BURSTS_OF_REQUEST = (1 << next(field.bits for field in DRAM_REQUEST.fields if field.name == "bursts")) - 1
"""Bursts that a request to the DRAM scheduler can name, at most."""


class Geometry(NamedTuple):
    """Sizes of a DIMM's memory as its engine sees it.

    All ranks of a DIMM get the same commands and move together, each its part of every line; so a DIMM is to its engine
    one memory with lines of ``ranks * burst_bytes``.

    Attributes
    ----------
    line_bytes, beat_bytes : int
        Bytes of a line (one burst of each rank), and of a beat of a vector.
    groups : int
        Bank groups that a vector's lines go round: 1 with the mapping ``vector_in_bank``.
    bank_groups, banks, bursts, rows : int
        Bank groups, banks in each, bursts in a row, and rows for each kind of vector.
    slice_beats : int
        Beats of a full slice: what one pass of the engine takes.
    """

    line_bytes: int
    beat_bytes: int
    groups: int
    bank_groups: int
    banks: int
    bursts: int
    rows: int
    slice_beats: int

    @classmethod
    def of(cls, config: SystemConfig) -> "Geometry":
        """Work out the sizes of a configuration.

        Parameters
        ----------
        config : SystemConfig
            The hardware.

        Returns
        -------
        Geometry
            Its sizes.

        Raises
        ------
        ConfigError
            A size is no power of two, or the vector buffer is smaller than a line: addresses would need a divider. Or
            a row is too short for a chunk or a beat, or a line for a descriptor; or a slice takes more bursts of a row
            than a request can name; or there are fewer rows than kinds.
        """
        nme, dram = config.nme, config.dram
        geometry = cls(
            line_bytes=dram.ranks_per_dimm * dram.burst_bytes,
            beat_bytes=nme.lanes * nme.element_bytes,
            groups=dram.bank_groups if dram.mapping == "bursts_over_groups" else 1,
            bank_groups=dram.bank_groups,
            banks=dram.banks_per_group,
            bursts=dram.columns // dram.burst_length,
            rows=dram.rows // KINDS,
            slice_beats=nme.max_beats,
        )
        sizes = {
            "dram.ranks_per_dimm x dram.bus_width_bits x dram.burst_length / 8": geometry.line_bytes,
            "nme.pes x nme.lanes_per_pe x bytes of nme.element": geometry.beat_bytes,
            "dram.bank_groups": geometry.bank_groups,
            "dram.banks_per_group": geometry.banks,
            "dram.columns / dram.burst_length": geometry.bursts,
            "nme.max_beats": geometry.slice_beats,
        }
        problems = [
            f"{name} is {size}; an engine needs a power of two" for name, size in sizes.items() if size & -size != size
        ]
        if not problems and geometry.slice_beats * geometry.beat_bytes < geometry.line_bytes:
            size = geometry.slice_beats * geometry.beat_bytes
            problems.append(
                f"nme.max_beats is {geometry.slice_beats}: a slice of {size} bytes is less than a line of "
                f"the memory; make it {geometry.line_bytes // geometry.beat_bytes} or more"
            )
        if geometry.bursts < CHUNK_LINES:
            problems.append(
                f"dram.columns / dram.burst_length is {geometry.bursts}; a chunk takes {CHUNK_LINES} bursts"
            )
        if geometry.rows == 0:
            problems.append(f"dram.rows is {dram.rows}; {KINDS} kinds of vector need a row each")
        if geometry.line_bytes < SHARD_DESCRIPTOR.bytes:
            problems.append(
                f"a line has {geometry.line_bytes} bytes, a descriptor {SHARD_DESCRIPTOR.bytes}; widen the memory: "
                "dram.bus_width_bits, dram.burst_length or dram.ranks_per_dimm"
            )
        if not problems and not geometry.fits(1):
            problems.append(
                f"one beat of {geometry.beat_bytes} bytes needs {geometry._bursts_of(1)} bursts of a row, which has "
                f"{geometry.bursts}; use fewer nme.pes or nme.lanes_per_pe"
            )
        if not problems and min(geometry.slice_bursts, geometry.bursts) > MOST_BURSTS_OF_REQUEST:
            problems.append(
                f"nme.max_beats is {geometry.slice_beats}: a slice of {geometry.slice_bursts} bursts is more than a "
                f"request can name, {MOST_BURSTS_OF_REQUEST}; make it {geometry.slice_beats // 2} or less"
            )
        if problems:
            raise ConfigError(problems)
        return geometry

    def fits(self, beats: int) -> bool:
        """Tell whether vectors can have so many beats: one at least, and no more than a row holds.

        Parameters
        ----------
        beats : int
            Beats of the whole vector.

        Returns
        -------
        bool
            False where `vector_bursts` raises an error, and where an engine refuses with ``BAD_BEATS``.
        """
        return 0 < self._bursts_of(beats) <= self.bursts

    def slices(self, beats: int) -> int:
        """Return how many slices a vector has: passes of the engine.

        Parameters
        ----------
        beats : int
            Beats of the whole vector.

        Returns
        -------
        int
            Slices.
        """
        return -(-beats // self.slice_beats)

    def beats_of_slice(self, beats: int, slice_index: int) -> int:
        """Return the beats of one slice of a vector; the last may be shorter than the others.

        Parameters
        ----------
        beats : int
            Beats of the whole vector.
        slice_index : int
            The slice.

        Returns
        -------
        int
            Beats, 0 or less if there is no such slice.
        """
        return min(self.slice_beats, beats - slice_index * self.slice_beats)

    def _bursts_of(self, beats: int) -> int:
        full, rest = divmod(beats, self.slice_beats)
        return full * self.slice_bursts + -(-self.lines(rest) // self.groups)

    def lines(self, beats: int) -> int:
        """Return the lines that hold so many beats.

        Parameters
        ----------
        beats : int
            Beats of a slice.

        Returns
        -------
        int
            Lines, the last one filled up.
        """
        return -(-beats * self.beat_bytes // self.line_bytes)

    @property
    def slice_bursts(self) -> int:
        """Bursts of a full slice in each of the bank groups that it lies in."""
        return max(1, self.lines(self.slice_beats) // self.groups)

    def vector_bursts(self, beats: int) -> int:
        """Return the bursts of a row that a vector takes, in each of its bank groups; slices begin at their own.

        Parameters
        ----------
        beats : int
            Beats of the whole vector.

        Returns
        -------
        int
            Bursts.

        Raises
        ------
        LayoutError
            The vector has no beat, or does not fit in a row.
        """
        bursts = self._bursts_of(beats)
        if not 0 < bursts <= self.bursts:
            raise LayoutError(
                f"vectors of {beats} beats of {self.beat_bytes} bytes need {bursts} bursts of a row, which has "
                f"{self.bursts}; use more ranks"
            )
        return bursts

    def stride_log2(self, beats: int) -> int:
        """Return the distance of neighbouring vectors in a row, as a power of two in bursts.

        Parameters
        ----------
        beats : int
            Beats of the whole vector.

        Returns
        -------
        int
            The exponent.
        """
        return (self.vector_bursts(beats) - 1).bit_length()

    def vectors(self, beats: int) -> int:
        """Return how many vectors of one kind a DIMM holds.

        Parameters
        ----------
        beats : int
            Beats of the whole vector.

        Returns
        -------
        int
            Vectors: numbers below this are valid.
        """
        places = self.bank_groups // self.groups * self.banks * self.rows
        return places * (self.bursts >> self.stride_log2(beats))

    @property
    def chunks(self) -> int:
        """Chunks for lists that a DIMM holds."""
        return self.bank_groups * self.banks * self.rows * self.bursts // CHUNK_LINES

    @property
    def chunk_bytes(self) -> int:
        """Bytes of a chunk."""
        return CHUNK_LINES * self.line_bytes

    def records(self, record_bytes: int) -> int:
        """Return the records of a list in one chunk.

        Parameters
        ----------
        record_bytes : int
            Bytes of a record.

        Returns
        -------
        int
            Records.
        """
        return self.chunk_bytes // record_bytes

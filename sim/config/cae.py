"""Configuration of the Centralized Acceleration Engine: the Update unit."""

from math import lcm

from pydantic import Field

from sim.config.base import Config

VECTOR_FUNCTION_CYCLES = 4
"""Latency of the elementary functions in a vector lane."""


class CaeConfig(Config):
    """The Centralized Acceleration Engine."""

    clock_hz: int = Field(ge=1)
    """Clock of the array and the vector units, in Hz."""
    rows: int = Field(ge=1, le=256)
    """Rows of the systolic array: the K direction."""
    columns: int = Field(ge=1, le=256)
    """Columns of the systolic array: the N direction."""
    accumulator_rows: int = Field(ge=1, le=65535)
    """Rows of the fp32 accumulator memory: the most rows (M) of one tile."""
    mul_latency: int = Field(ge=0, le=4)
    """Pipeline stages of a multiplier, in cycles."""
    add_latency: int = Field(ge=1, le=4)
    """Pipeline stages of an adder, in cycles; each row of the array delays the sum by as much."""
    vector_units: int = Field(ge=1, le=256)
    """Vector units beside the array, each of as many lanes as a beat."""
    vector_mul_latency: int = Field(ge=0, le=4)
    """Pipeline stages of a vector lane's fp32 multipliers, in cycles."""
    operand_banks: int = Field(ge=1, le=64)
    """Banks of bf16 elements, the first ones by number: what the array reads."""
    operand_bank_beats: int = Field(ge=1, le=1 << 24)
    """Beats in each of them."""
    vector_banks: int = Field(ge=1, le=64)
    """Banks of fp32 elements."""
    vector_bank_beats: int = Field(ge=1, le=1 << 24)
    """Beats in each of them."""
    merge_sources: int = Field(ge=1, le=32)
    """Sources of partial sums, a DIMM each."""
    merge_ports: int = Field(ge=1, le=32)
    """Streams on which they come, a channel each."""
    window_instructions: int = Field(ge=1, le=32)
    """Instructions between their start and their status at a time."""
    memory_beats: int = Field(ge=1, le=1 << 32)
    """Beats of the memory that transfers reach."""

    @property
    def lanes(self) -> int:
        """Elements of a beat: whole parts for the rows and for the columns of the array."""
        return lcm(self.rows, self.columns)

    @property
    def banks(self) -> int:
        """Banks of both kinds."""
        return self.operand_banks + self.vector_banks

    def merge_port(self, source: int) -> int:
        """Return the stream on which a source's partial sums come: DIMMs are numbered over the channels first.

        Parameters
        ----------
        source : int
            Its number.

        Returns
        -------
        int
            The stream's number.
        """
        return source % self.merge_ports

    def bank_beats(self, bank: int) -> int:
        """Return the beats of a bank.

        Parameters
        ----------
        bank : int
            Its number.

        Returns
        -------
        int
            Its size.
        """
        return self.operand_bank_beats if bank < self.operand_banks else self.vector_bank_beats

    @property
    def peak_multiply_adds_per_s(self) -> float:
        """Multiply-and-adds per second of the whole array."""
        return float(self.rows * self.columns * self.clock_hz)

    @property
    def vector_lanes(self) -> int:
        """Lanes of all vector units together."""
        return self.vector_units * self.lanes

    @property
    def pipeline_cycles(self) -> int:
        """Cycles from the issue of a row to the write of its sum in the last column of the accumulator memory."""
        return 1 + self.mul_latency + self.rows * self.add_latency + self.columns - 1

    @property
    def reuse_cycles(self) -> int:
        """Fewest cycles between two passes over the same row of the accumulator memory: read, all rows' adds, write."""
        return self.rows * self.add_latency + 2

    @property
    def swap_cycles(self) -> int:
        """Cycles from the first row of a block to the last element that takes over its new weights."""
        return (self.rows - 1) * self.add_latency + self.columns

    @property
    def vector_element_cycles(self) -> int:
        """Cycles from a vector unit's read of a beat to its result: read, select, multiply, add, function, mask."""
        return 2 + 1 + self.vector_mul_latency + self.add_latency + VECTOR_FUNCTION_CYCLES + 1

    @property
    def vector_row_cycles(self) -> int:
        """Cycles from there to the result of a row's last beat: a tree over the lanes, and the sum of the beats."""
        return ((self.lanes - 1).bit_length() + 1) * self.add_latency

    @property
    def vector_column_cycles(self) -> int:
        """Cycles from there to the result of a column's last row: one of four chains, and the two steps to one sum."""
        return 3 * self.add_latency

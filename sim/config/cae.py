"""Configuration of the Centralized Acceleration Engine: the Update unit."""

from pydantic import Field

from sim.config.base import Config


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
    """Vector units beside the array: merge, bias, activation."""
    lanes_per_vector_unit: int = Field(ge=1, le=256)
    """Lanes in each vector unit."""

    @property
    def peak_multiply_adds_per_s(self) -> float:
        """Multiply-and-adds per second of the whole array."""
        return float(self.rows * self.columns * self.clock_hz)

    @property
    def vector_lanes(self) -> int:
        """Lanes of all vector units together."""
        return self.vector_units * self.lanes_per_vector_unit

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

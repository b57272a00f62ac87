"""Configuration of a Near-Memory Engine: the Reduce unit of one DIMM."""

from typing import Literal

from pydantic import Field

from sim.config.base import Config

Element = Literal["bf16", "fp32"]


class NmeConfig(Config):
    """One Near-Memory Engine."""

    clock_hz: int = Field(ge=1)
    """Clock of the compute part, in Hz."""
    pes: int = Field(ge=1, le=64)
    """Processing elements."""
    lanes_per_pe: int = Field(ge=1, le=64)
    """Multiply-and-add lanes in each processing element."""
    element: Element
    """Storage format of vectors and edge weights; accumulation is always fp32."""
    interval: int = Field(ge=1, le=4096)
    """Destinations of one shard: slots of the output buffer."""
    max_beats: int = Field(ge=1, le=256)
    """Beats of the widest vector in one pass, lanes elements each; wider features go in slices."""
    mul_latency: int = Field(ge=0, le=4)
    """Pipeline stages of a multiplier, in cycles."""
    add_latency: int = Field(ge=0, le=4)
    """Pipeline stages of an adder, in cycles."""
    vector_slots: int = Field(ge=2, le=256)
    """Source vectors (slices of them) that may be under way from the memory or wait for the reduce unit."""
    list_slots: int = Field(ge=2, le=64)
    """Chunks of each list (descriptors, sources, edges) that may be under way or wait for their use."""
    queued_passes: int = Field(ge=1, le=16)
    """Passes of shards that may be fetched ahead of the reduce unit's command."""

    @property
    def lanes(self) -> int:
        """Elements in one beat."""
        return self.pes * self.lanes_per_pe

    @property
    def element_bytes(self) -> int:
        """Bytes of one stored element."""
        return 2 if self.element == "bf16" else 4

    @property
    def max_features(self) -> int:
        """Features of the widest vector in one pass."""
        return self.lanes * self.max_beats

    @property
    def output_buffer_bytes(self) -> int:
        """Bytes of the fp32 output buffer of one open shard."""
        return self.interval * self.max_features * 4

    @property
    def pipeline_cycles(self) -> int:
        """Cycles from the issue of a beat to the write of its sum: operand read, multiply, add."""
        return 1 + self.mul_latency + self.add_latency

    @property
    def hazard_cycles(self) -> int:
        """Fewest cycles between two beats that add to the same place of the output buffer: read, add, write."""
        return self.add_latency + 2

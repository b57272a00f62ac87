"""Configuration of a whole NearSAGE system, and how a graph is laid out on it."""

from fractions import Fraction

from pydantic import Field

from sim.config.base import Config
from sim.config.cae import CaeConfig
from sim.config.dram import DramConfig
from sim.config.nme import NmeConfig
from sim.config.ssd import SsdConfig


class PartitionConfig(Config):
    """How vertices and edges are spread over the DIMMs."""

    block_vertices: int = Field(ge=1)
    """Vertices in one block; blocks go round-robin over channels first, then over the DIMMs of a channel."""
    duplicated_share: float = Field(ge=0, le=1)
    """Share of the sources, by falling out-degree, that stand in all DIMMs of their channel (hybrid partition)."""
    window_shards: int = Field(ge=1)
    """A DIMM runs fewer than this many shards ahead of the last shard that all DIMMs have finished."""
    update_first_above_features: int = Field(ge=0)
    """Layer 0 runs Update before Reduce (IEO) where its input is wider than this."""


class ComputeEnergy(Config):
    """Energy of arithmetic and links."""

    node_nm: float = Field(gt=0)
    """Technology node that the energies are scaled to, from 45 nm, by the square of the ratio."""
    fp32_add_pj: float = Field(ge=0)
    """One fp32 addition at 45 nm."""
    fp32_multiply_pj: float = Field(ge=0)
    """One fp32 multiplication at 45 nm."""
    bf16_multiply_pj: float = Field(ge=0)
    """One 16-bit floating-point multiplication at 45 nm."""
    channel_pj_per_bit: float = Field(ge=0)
    """One bit over a memory channel."""

    def at_node(self, energy_pj_45nm: float) -> float:
        """Scale an energy from 45 nm to the configured node.

        Parameters
        ----------
        energy_pj_45nm : float
            Energy at 45 nm, in pJ.

        Returns
        -------
        float
            Energy at `node_nm`, in pJ.
        """
        return energy_pj_45nm * (self.node_nm / 45) ** 2


class SystemConfig(Config):
    """Everything that a run or an estimate needs to know of the hardware."""

    name: str = Field(min_length=1)
    """Name of the configuration, stamped on all results."""
    hidden_features: int = Field(ge=1, le=65536)
    """Hidden width of the workload's models."""
    nme: NmeConfig
    """Each Near-Memory Engine."""
    cae: CaeConfig
    """The Centralized Acceleration Engine."""
    dram: DramConfig
    """The memory."""
    ssd: SsdConfig
    """The sampling engine in the SSD, with its flash."""
    partition: PartitionConfig
    """The layout of a graph."""
    energy: ComputeEnergy
    """Energies outside the DRAM."""

    @property
    def dimm_memory(self) -> DramConfig:
        """The ranks of one DIMM as one wide rank.

        Each rank holds the same share of every vector, in the same place; so all ranks of a DIMM get the same commands
        at the same time, and their refreshes, made together, cost no more than one rank's.
        """
        dram = self.dram
        return dram.replace(ranks_per_dimm=1, bus_width_bits=dram.ranks_per_dimm * dram.bus_width_bits)

    @property
    def compute_ratio(self) -> Fraction:
        """Compute cycles of a Near-Memory Engine in one cycle of the DRAM's command clock, at most 1.

        Both clocks come from one source: the ratio is that of small numbers nearest to the configured frequencies.
        Source: assumption.
        """
        ratio = Fraction(self.nme.clock_hz * self.dram.timing.tck_ns / 1e9).limit_denominator(64)
        return min(max(ratio, Fraction(1, 64)), Fraction(1))

"""Configuration of the DRAM behind the Near-Memory Engines."""

from typing import Literal, NamedTuple

from pydantic import Field

from sim.config.base import Config, ConfigError

Mapping = Literal["vector_in_bank", "bursts_over_groups"]

MOST_BURSTS = 256
"""Bursts of a row at most: what a request to the scheduler can name."""


class DramGates(NamedTuple):
    """Fewest cycles from one command to another: what the scheduler waits for. Source: JESD79-4, JESD79-5.

    ``_s`` is for another bank group of the same rank, ``_l`` for the same bank group, ``_other`` for another rank.
    """

    command_to_command: int
    activate_to_column: int
    activate_to_precharge: int
    activate_to_activate: int
    activate_to_activate_s: int
    activate_to_activate_l: int
    four_activates: int
    precharge_to_activate: int
    read_to_precharge: int
    write_to_precharge: int
    read_to_read_s: int
    read_to_read_l: int
    read_to_read_other: int
    read_to_write: int
    read_to_write_other: int
    write_to_write_s: int
    write_to_write_l: int
    write_to_write_other: int
    write_to_read_s: int
    write_to_read_l: int
    write_to_read_other: int
    refresh_to_activate: int
    refresh_interval: int
    read_to_data: int
    write_to_data: int
    burst: int


class DramTiming(Config):
    """Timing of one DRAM device, in cycles of its command clock."""

    tck_ns: float = Field(gt=0)
    """Period of the command clock."""
    tcmd: int = Field(ge=1)
    """Command to command on the channel, whatever they are."""
    cl: int = Field(ge=1)
    """Read latency."""
    cwl: int = Field(ge=1)
    """Write latency."""
    trcd: int = Field(ge=1)
    """Activate to read or write."""
    trp: int = Field(ge=1)
    """Precharge to activate."""
    tras: int = Field(ge=1)
    """Activate to precharge."""
    trfc: int = Field(ge=1)
    """Refresh to next command."""
    trefi: int = Field(ge=1)
    """Mean time between refreshes."""
    trrd_s: int = Field(ge=1)
    """Activate to activate, other bank group."""
    trrd_l: int = Field(ge=1)
    """Activate to activate, same bank group."""
    twtr_s: int = Field(ge=1)
    """Write to read, other bank group."""
    twtr_l: int = Field(ge=1)
    """Write to read, same bank group."""
    tfaw: int = Field(ge=1)
    """Window of four activates."""
    twr: int = Field(ge=1)
    """Write recovery."""
    trtp: int = Field(ge=1)
    """Read to precharge."""
    tccd_s: int = Field(ge=1)
    """Column to column, other bank group."""
    tccd_l: int = Field(ge=1)
    """Column to column, same bank group."""
    tccd_l_wr: int = Field(ge=1)
    """Write to write, same bank group."""
    trtw_gap: int = Field(ge=0)
    """Read data to write data: cycles in which the bus is free, for the preamble."""
    trtrs: int = Field(ge=0)
    """Rank switch."""


class DramCurrents(Config):
    """Supply currents of one DRAM device."""

    vdd_v: float = Field(gt=0)
    """Supply voltage."""
    idd0_ma: float = Field(ge=0)
    """Activate and precharge."""
    idd2n_ma: float = Field(ge=0)
    """Precharge standby."""
    idd3n_ma: float = Field(ge=0)
    """Active standby, all banks open."""
    idd3n_one_bank_ma: float = Field(ge=0)
    """Standby with the one bank open that activates and precharges while IDD0 is measured."""
    idd4w_ma: float = Field(ge=0)
    """Burst write."""
    idd4r_ma: float = Field(ge=0)
    """Burst read."""
    idd5ab_ma: float = Field(ge=0)
    """Refresh, all banks."""


class DramEnergy(NamedTuple):
    """Energy of what one rank does: counted events in pJ, standing power in mW."""

    read_pj: float
    """One read of a burst, above active standby."""
    write_pj: float
    """One write of a burst, above active standby."""
    activate_pj: float
    """One activate with its precharge, above standby."""
    refresh_pj: float
    """One refresh command, above active standby."""
    active_standby_mw: float
    """Standby with a row open."""
    precharge_standby_mw: float
    """Standby with all banks closed."""


class DramConfig(Config):
    """The DRAM of the whole system."""

    channels: int = Field(ge=1, le=64)
    """Channels, each with a bus of its own."""
    dimms_per_channel: int = Field(ge=1, le=16)
    """DIMMs on each channel, one Near-Memory Engine each."""
    ranks_per_dimm: int = Field(ge=1, le=16)
    """Ranks of a DIMM; a vector is split over them and read from all in parallel."""
    bank_groups: int = Field(ge=1, le=8)
    """Bank groups of a device."""
    banks_per_group: int = Field(ge=1, le=8)
    """Banks in a bank group."""
    rows: int = Field(ge=1, le=1 << 18)
    """Rows of a bank."""
    columns: int = Field(ge=1)
    """Columns of a row."""
    device_width_bits: int = Field(ge=4)
    """Data width of a device."""
    device_capacity_gbit: int = Field(ge=1)
    """Capacity of a device."""
    bus_width_bits: int = Field(ge=8)
    """Data width of a rank."""
    burst_length: int = Field(ge=1)
    """Beats of one burst."""
    window_requests: int = Field(ge=1, le=64)
    """Requests that the scheduler chooses from."""
    mapping: Mapping
    """How a vector lies in a rank: in one bank, or its bursts one after the other in all bank groups."""
    postponable_refreshes: int = Field(ge=1, le=8)
    """Refreshes that may be due and not yet given, as the device allows."""
    postponed_refreshes: int = Field(ge=0, le=7)
    """Refreshes of a busy rank that are put off, to be made up together with the next: fewer than may be."""
    rank_bandwidth_bytes_per_s: float = Field(gt=0)
    """Bandwidth of one rank as the coarse model takes it."""
    channel_bandwidth_bytes_per_s: float = Field(gt=0)
    """Bandwidth of one channel towards the Centralized Acceleration Engine, as the coarse model takes it."""
    timing: DramTiming
    """Timing parameters."""
    currents: DramCurrents
    """Supply currents."""

    def check(self) -> None:
        """Refuse values that fit no device together, though each is in its range; `load_config` calls this.

        Raises
        ------
        ConfigError
            Naming each pair of fields that does not fit.
        """
        t, beats = self.timing, self.burst_length
        faults = {
            f"burst_length is {beats}; it must be even, as two beats move in a cycle": beats % 2,
            f"columns is {self.columns}; it must be a multiple of burst_length, {beats}": self.columns % beats,
            f"columns is {self.columns}; a row may hold {MOST_BURSTS} bursts of {beats}": (
                self.columns > MOST_BURSTS * beats
            ),
            f"bus_width_bits is {self.bus_width_bits}; it must be a multiple of device_width_bits, "
            f"{self.device_width_bits}": self.bus_width_bits % self.device_width_bits,
            f"timing.tccd_s is {t.tccd_s}; bursts take {beats // 2} cycles and would overlap": t.tccd_s < beats // 2,
            f"timing.trefi is {t.trefi}; refreshes take {t.trfc} cycles each and must fit": t.trefi <= 2 * t.trfc,
            f"postponed_refreshes is {self.postponed_refreshes}; with the next one due they must be at most "
            f"postponable_refreshes, {self.postponable_refreshes}": (
                self.postponed_refreshes >= self.postponable_refreshes
            ),
        }
        faults |= {
            f"currents give {name} = {value:.0f}; an energy is positive: look at what it is the difference of": value
            < 0
            for name, value in self.energy._asdict().items()
        }
        problems = [f"dram.{problem}" for problem, fault in faults.items() if fault]
        if problems:
            raise ConfigError(problems)

    @property
    def gates(self) -> DramGates:
        """Fewest cycles between commands."""
        t, burst = self.timing, self.burst_length // 2
        return DramGates(
            command_to_command=t.tcmd,
            activate_to_column=t.trcd,
            activate_to_precharge=t.tras,
            activate_to_activate=t.tras + t.trp,
            activate_to_activate_s=t.trrd_s,
            activate_to_activate_l=t.trrd_l,
            four_activates=t.tfaw,
            precharge_to_activate=t.trp,
            read_to_precharge=t.trtp,
            write_to_precharge=t.cwl + burst + t.twr,
            read_to_read_s=t.tccd_s,
            read_to_read_l=t.tccd_l,
            read_to_read_other=burst + t.trtrs,
            read_to_write=max(1, t.cl + burst + t.trtw_gap - t.cwl),
            read_to_write_other=max(1, t.cl + burst + max(t.trtw_gap, t.trtrs) - t.cwl),
            write_to_write_s=t.tccd_s,
            write_to_write_l=t.tccd_l_wr,
            write_to_write_other=burst + t.trtrs,
            write_to_read_s=t.cwl + burst + t.twtr_s,
            write_to_read_l=t.cwl + burst + t.twtr_l,
            write_to_read_other=max(1, t.cwl + burst + t.trtrs - t.cl),
            refresh_to_activate=t.trfc,
            refresh_interval=t.trefi,
            read_to_data=t.cl + burst,
            write_to_data=t.cwl + burst,
            burst=burst,
        )

    @property
    def energy(self) -> DramEnergy:
        """Energies of one rank. Source: Micron's power calculation (TN-40-07), as in DRAMsim3."""
        t, i, burst = self.timing, self.currents, self.burst_length / 2
        devices = self.bus_width_bits // self.device_width_bits
        pj_per_ma_cycle = i.vdd_v * t.tck_ns * devices
        row_cycle = i.idd0_ma * (t.tras + t.trp) - i.idd3n_one_bank_ma * t.tras - i.idd2n_ma * t.trp
        return DramEnergy(
            read_pj=pj_per_ma_cycle * (i.idd4r_ma - i.idd3n_ma) * burst,
            write_pj=pj_per_ma_cycle * (i.idd4w_ma - i.idd3n_ma) * burst,
            activate_pj=pj_per_ma_cycle * row_cycle,
            refresh_pj=pj_per_ma_cycle * (i.idd5ab_ma - i.idd3n_ma) * t.trfc,
            active_standby_mw=i.vdd_v * i.idd3n_ma * devices,
            precharge_standby_mw=i.vdd_v * i.idd2n_ma * devices,
        )

    @property
    def dimms(self) -> int:
        """DIMMs in all: Near-Memory Engines in all."""
        return self.channels * self.dimms_per_channel

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of a rank."""
        return self.columns * self.bus_width_bits // 8

    @property
    def burst_bytes(self) -> int:
        """Bytes of one burst."""
        return self.bus_width_bits * self.burst_length // 8

    @property
    def dimm_bandwidth_bytes_per_s(self) -> float:
        """Bandwidth of one DIMM towards its Near-Memory Engine, all ranks in parallel."""
        return self.rank_bandwidth_bytes_per_s * self.ranks_per_dimm

    @property
    def capacity_bytes(self) -> int:
        """Bytes of all DIMMs together."""
        devices = self.bus_width_bits // self.device_width_bits
        return self.device_capacity_gbit * (1 << 30) // 8 * devices * self.ranks_per_dimm * self.dimms

"""Energy: counted events times coefficients, and standing power times time."""

from sim.config import SystemConfig

PJ_PER_J = 1e12
MW_PER_W = 1e3
NS_PER_S = 1e9


def event_energies_pj(config: SystemConfig) -> dict[str, float]:
    """Return the energy of one event of each kind.

    Parameters
    ----------
    config : SystemConfig
        Holds the coefficients; their sources stand beside them in its file.

    Returns
    -------
    dict of str to float
        Energy in pJ by event: DRAM burst read or written, and activate, of one rank; arithmetic of one lane; one byte
        over a channel.
    """
    energy = config.energy
    add = energy.at_node(energy.fp32_add_pj)
    bf16_multiply = energy.at_node(energy.bf16_multiply_pj)
    fp32_multiply = energy.at_node(energy.fp32_multiply_pj)
    return {
        "dram_read": config.dram.energy.read_pj,
        "dram_write": config.dram.energy.write_pj,
        "dram_activate": config.dram.energy.activate_pj,
        "nme_multiply": bf16_multiply if config.nme.element == "bf16" else fp32_multiply,
        "nme_add": add,
        "array_multiply": bf16_multiply,
        "array_add": add,
        "vector_add": add,
        "channel_byte": 8 * energy.channel_pj_per_bit,
    }


def energy_joules(events: dict[str, int], seconds: float, config: SystemConfig) -> float:
    """Return the energy of counted events and of the time that passes.

    Parameters
    ----------
    events : dict of str to int
        Counts by the names of `event_energies_pj`.
    seconds : float
        Time, for active standby and refresh of all ranks.
    config : SystemConfig
        The hardware.

    Returns
    -------
    float
        Energy in J.
    """
    coefficients = event_energies_pj(config)
    dynamic_pj = sum(count * coefficients[name] for name, count in events.items())
    dram = config.dram
    ranks = dram.dimms * dram.ranks_per_dimm
    refreshes_per_s = NS_PER_S / (dram.timing.trefi * dram.timing.tck_ns)
    standing_w = ranks * (
        dram.energy.active_standby_mw / MW_PER_W + refreshes_per_s * dram.energy.refresh_pj / PJ_PER_J
    )
    return dynamic_pj / PJ_PER_J + standing_w * seconds

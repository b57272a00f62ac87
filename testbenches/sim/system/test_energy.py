"""Energy: units, and that every count and every coefficient is heard."""

import pytest

from sim.config import load_config
from sim.system.energy import energy_joules, event_energies_pj

TINY = load_config("tiny")
EVENTS = dict.fromkeys(event_energies_pj(TINY), 1000)

# The configuration's coefficient behind each event, and pJ of one event with `tiny`, worked out by hand.
COEFFICIENTS = {
    "dram_read": ("dram.currents.idd4r_ma", 8 * 1.2 * 0.833 * (135 - 43) * 4),
    "dram_write": ("dram.currents.idd4w_ma", 8 * 1.2 * 0.833 * (123 - 43) * 4),
    "dram_activate": ("dram.currents.idd0_ma", 8 * 1.2 * 0.833 * (48 * 55 - 43 * 39 - 34 * 16)),
    "nme_multiply": ("energy.bf16_multiply_pj", 1.1),
    "nme_add": ("energy.fp32_add_pj", 0.9),
    "array_multiply": ("energy.bf16_multiply_pj", 1.1),
    "array_add": ("energy.fp32_add_pj", 0.9),
    "vector_add": ("energy.fp32_add_pj", 0.9),
    "channel_byte": ("energy.channel_pj_per_bit", 320),
}


def value_at(config, dotted):
    for part in dotted.split("."):
        config = getattr(config, part)
    return config


def test_a_million_million_picojoules_are_a_joule():
    for name, (_, energy_pj) in COEFFICIENTS.items():
        assert energy_joules({name: 10**12}, 0.0, TINY) == pytest.approx(energy_pj, rel=1e-12)
    assert EVENTS.keys() == COEFFICIENTS.keys()


def test_events_add_up():
    total = energy_joules(EVENTS, 0.0, TINY)
    assert total == pytest.approx(sum(energy_joules({name: 1000}, 0.0, TINY) for name in EVENTS), rel=1e-12)
    assert energy_joules({}, 0.0, TINY) == 0


def test_standing_power_by_hand():
    # 4 DIMMs of 2 ranks of 8 devices at 43 mA, and in each 207 mA more for 420 of every 9,360 cycles; at 1.2 V.
    watts = 8 * 8 * 1.2 * (0.043 + 0.207 * 420 / 9360)
    assert energy_joules({}, 3.0, TINY) == pytest.approx(3 * watts, rel=1e-12)


@pytest.mark.parametrize("name", EVENTS)
def test_more_events_cost_more(name):
    assert energy_joules(EVENTS | {name: 1001}, 1e-6, TINY) > energy_joules(EVENTS, 1e-6, TINY)
    # No count is too big: nothing wraps.
    assert energy_joules(EVENTS | {name: 10**20}, 1e-6, TINY) > energy_joules(EVENTS | {name: 10**19}, 1e-6, TINY)


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_hears_its_own_coefficient(name):
    coefficient, _ = COEFFICIENTS[name]
    dearer = TINY.replace(**{coefficient: value_at(TINY, coefficient) * 2})
    for event in EVENTS:
        before, after = (energy_joules({event: 7}, 0.0, config) for config in (TINY, dearer))
        assert (after > before) if COEFFICIENTS[event][0] == coefficient else (after == before)


@pytest.mark.parametrize(
    ("key", "factor"),
    [
        ("dram.currents.idd3n_ma", 2), ("dram.currents.idd5ab_ma", 2), ("dram.timing.trefi", 0.5),
        ("dram.timing.trfc", 2), ("dram.currents.vdd_v", 2),
        ("dram.channels", 2), ("dram.dimms_per_channel", 2), ("dram.ranks_per_dimm", 2),
    ],
)  # fmt: skip
def test_standing_power_hears_its_coefficients(key, factor):
    value = value_at(TINY, key)
    dearer = TINY.replace(**{key: type(value)(value * factor)})
    assert energy_joules({}, 1e-3, dearer) > energy_joules({}, 1e-3, TINY)


def test_time_costs():
    assert energy_joules(EVENTS, 2e-6, TINY) > energy_joules(EVENTS, 1e-6, TINY) > energy_joules(EVENTS, 0.0, TINY)


def test_fp32_elements_multiply_in_fp32():
    fp32 = TINY.replace(**{"nme.element": "fp32"})
    assert event_energies_pj(fp32)["nme_multiply"] == 3.7
    assert event_energies_pj(fp32)["array_multiply"] == 1.1


def test_arithmetic_scales_with_the_square_of_the_node_and_nothing_else_does():
    half = event_energies_pj(TINY.replace(**{"energy.node_nm": 22.5}))
    for name, (_, energy_pj) in COEFFICIENTS.items():
        scaled = name not in ("dram_read", "dram_write", "dram_activate", "channel_byte")
        assert half[name] == pytest.approx(energy_pj / (4 if scaled else 1))


def test_unknown_events_are_refused():
    with pytest.raises(KeyError, match="dram_bust"):
        energy_joules({"dram_bust": 1}, 0.0, TINY)

"""Every field of every configuration: its bounds, its type, its errors; and what all configurations share."""

import math
import typing

import pytest
from annotated_types import Ge, Gt, Le, Lt, MinLen

from sim.config import Config, ConfigError, SystemConfig, load_config


def leaves(model, prefix=""):
    """List (dotted name, field) of every value below a model."""
    found = []
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Config):
            found += leaves(kind, f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", field))
    return found


def value_at(config, dotted):
    for part in dotted.split("."):
        config = getattr(config, part)
    return config


LEAVES = leaves(SystemConfig)
NUMBERS = [(name, field) for name, field in LEAVES if field.annotation in (int, float)]
TINY = load_config("tiny")


def limits(field):
    """Return (accepted, refused) values at the edges of a numeric field's range."""
    step = 1 if field.annotation is int else 1e-9
    kind = field.annotation
    accepted, refused = [], []
    for mark in field.metadata:
        match mark:
            case Ge(ge):
                accepted.append(kind(ge))
                refused.append(kind(ge - step))
            case Gt(gt):
                accepted.append(kind(gt + step))
                refused.append(kind(gt))
            case Le(le):
                accepted.append(kind(le))
                refused.append(kind(le + step))
            case Lt(lt):
                accepted.append(kind(lt - step))
                refused.append(kind(lt))
    return accepted, refused


@pytest.mark.parametrize(("name", "field"), NUMBERS, ids=[name for name, _ in NUMBERS])
def test_bounds(name, field):
    accepted, refused = limits(field)
    assert refused, f"{name} has no bounds"
    for value in accepted:
        assert value_at(TINY.replace(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(ConfigError) as caught:
            TINY.replace(**{name: value})
        (problem,) = caught.value.problems
        assert problem.startswith(f"{name} is {value!r}")
        assert "allowed: " in problem


@pytest.mark.parametrize(("name", "field"), NUMBERS, ids=[name for name, _ in NUMBERS])
def test_wrong_types_are_refused_by_name(name, field):
    wrong = ["4", None, [1], True, *([1.5] if field.annotation is int else [math.nan, math.inf])]
    for value in wrong:
        with pytest.raises(ConfigError, match=f"^{name}") as caught:
            TINY.replace(**{name: value})
        assert len(caught.value.problems) == 1


@pytest.mark.parametrize(("name", "field"), LEAVES, ids=[name for name, _ in LEAVES])
def test_content_hash_sees_every_field(name, field):
    value = value_at(TINY, name)
    if typing.get_origin(field.annotation) is typing.Literal:
        other = next(choice for choice in typing.get_args(field.annotation) if choice != value)
    elif field.annotation is bool:
        other = not value
    elif name == "name":
        other = "other"
    else:
        top = min((mark.le for mark in field.metadata if isinstance(mark, Le)), default=math.inf)
        other = value * 2 if value * 2 <= top else type(value)(value - 1)
        other = other or type(value)(1)
    changed = TINY.replace(**{name: other})
    assert value_at(changed, name) == other != value
    assert changed.content_hash() != TINY.content_hash()
    assert changed.replace(**{name: value}) == TINY
    assert changed.replace(**{name: value}).content_hash() == TINY.content_hash()


def test_content_hash_is_stable():
    assert load_config("tiny").content_hash() == TINY.content_hash()
    # A whole number for a float is the same value: it must not give another hash.
    assert TINY.replace(**{"dram.rank_bandwidth_bytes_per_s": 16_000_000_000}).content_hash() == TINY.content_hash()
    assert len(TINY.content_hash()) == 16
    assert int(TINY.content_hash(), 16) >= 0


@pytest.mark.parametrize(
    ("key", "near"),
    [("nme.intervall", "interval"), ("dram.timing.t_rcd", "trcd"), ("hiden_features", "hidden_features")],
)
def test_unknown_keys_name_the_nearest(key, near):
    with pytest.raises(ConfigError, match=f"did you mean '{near}'") as caught:
        TINY.replace(**{key: 1})
    assert str(caught.value).startswith(f"{key}: key '{key.rsplit('.', 1)[-1]}' is not known")


@pytest.mark.parametrize("key", ["nmee.interval", "dram.timings.cl"])
def test_unknown_parents_name_the_nearest(key):
    parent = key.split(".")[-2]
    with pytest.raises(ConfigError, match=f"{parent!r} is not known; did you mean '{parent[:-1]}'"):
        TINY.replace(**{key: 1})


def test_a_name_below_a_value_is_refused():
    with pytest.raises(ConfigError, match=r"^hidden_features\.bits: hidden_features is a value"):
        TINY.replace(**{"hidden_features.bits": 1})
    with pytest.raises(ConfigError, match="nme"):
        TINY.replace(nme=1)


def test_several_problems_are_all_told():
    with pytest.raises(ConfigError) as caught:
        TINY.replace(**{"nme.interval": 0, "cae.rows": 0, "dram.timing.cl": 0, "nme.element": "fp16"})
    assert [problem.split()[0] for problem in caught.value.problems] == [
        "nme.element", "nme.interval", "cae.rows", "dram.timing.cl",
    ]  # fmt: skip
    assert "'bf16' or 'fp32'" in caught.value.problems[0]


def test_missing_fields_are_told():
    values = TINY.model_dump()
    del values["nme"]["interval"], values["cae"]
    with pytest.raises(ConfigError) as caught:
        SystemConfig(**values)
    assert caught.value.problems == ["nme.interval: missing; add it", "cae: missing; add it"]


def test_problems_of_a_part_keep_their_place():
    values = TINY.model_dump() | {"nme": {**TINY.nme.model_dump(), "interval": 0}}
    with pytest.raises(ConfigError, match=r"^nme\.interval is 0: .*allowed: >= 1 and <= 4096"):
        SystemConfig(**values)


def test_configurations_are_frozen():
    for part, field in ((TINY, "name"), (TINY.nme, "interval"), (TINY.dram.timing, "cl")):
        with pytest.raises(ValueError, match="frozen"):
            setattr(part, field, getattr(part, field))
    assert hash(TINY.nme) == hash(load_config("tiny").nme)


def test_positional_values_are_refused():
    with pytest.raises(TypeError):
        type(TINY.partition)(4, 0.35, 4, 16)


def test_replace_leaves_the_original_alone():
    before = TINY.model_dump()
    other = TINY.replace(**{"nme.interval": 7, "partition.window_shards": 9})
    assert (other.nme.interval, other.partition.window_shards) == (7, 9)
    assert TINY.model_dump() == before
    assert TINY.replace() == TINY


def test_every_field_says_what_it_is():
    for name, field in LEAVES:
        assert field.description, name
        assert field.annotation is not str or any(isinstance(mark, MinLen) for mark in field.metadata)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("nme.pes", 1, 64), ("nme.lanes_per_pe", 1, 64), ("nme.interval", 1, 4096), ("nme.max_beats", 1, 256),
        ("nme.mul_latency", 0, 4), ("nme.add_latency", 0, 4),
        ("cae.rows", 1, 256), ("cae.columns", 1, 256), ("cae.accumulator_rows", 1, 65535),
        ("cae.mul_latency", 0, 4), ("cae.add_latency", 1, 4),
        ("partition.duplicated_share", 0.0, 1.0), ("partition.window_shards", 1, 1 << 40),
    ],
)  # fmt: skip
def test_ranges_that_the_rtl_and_its_formats_hold(name, low, high):
    """The 16-bit fields of commands and the pipelines of the arithmetic set these limits; a test tells of a change."""
    for value in (low, high):
        assert value_at(TINY.replace(**{name: value}), name) == value
    with pytest.raises(ConfigError, match=f"^{name} is "):
        TINY.replace(**{name: low - 1})

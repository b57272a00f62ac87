"""Commands for the queue pair, right and wrong ones, and doorbells in orders that a host could choose."""

import numpy as np

from sim.program.ssd import ALL_NEIGHBOURS, LINE_BYTES, MOST_HOPS, NS_CONFIG, SUBMISSION, SsdOpcode
from testbenches.ssd.pair_bench import Script


def pick(rng, choices):
    """Choose one; numpy would round large numbers."""
    return choices[rng.integers(len(choices))]


PAGES = (1 << 20) + 1
TOP = (1 << 64) - 1
EDGES_END = 1 << 48

SUBMISSION_BITS = {field.name: field.bits for field in SUBMISSION.fields if field.name}
CONFIG_BITS = {field.name: field.bits for field in NS_CONFIG.fields if field.name}


def good(rng, config, pages):
    """Make the fields of a command that is not refused, often at the edge of being so."""
    wide = bool(rng.integers(2))
    id_bytes = 8 if wide else 4
    room = pages * config.flash.page_bytes
    address = pick(rng, [0, id_bytes, room - id_bytes * 3, room, int(rng.integers(room // 8)) * 8])
    address -= address % id_bytes
    fits = min((room - address) // id_bytes, EDGES_END)
    edges = pick(rng, [0, fits, int(rng.integers(fits + 1))])
    hops = int(rng.integers(1, MOST_HOPS + 1))
    fanouts = [
        pick(rng, [1, config.max_fanout, ALL_NEIGHBOURS, int(rng.integers(1, config.max_fanout + 1))])
        for _ in range(hops)
    ]
    # Hops that the command does not have may hold anything.
    fanouts += [int(rng.integers(256)) for _ in range(MOST_HOPS - hops)]
    targets = pick(rng, [1, 2, 1024, (1 << 27) - 3])
    lines = pick(rng, [0, 1, 17, (1 << 32) - 1])
    result = pick(rng, [0, 64, (1 << 64) - LINE_BYTES * lines, int(rng.integers(1 << 56)) * 64]) % (1 << 64)
    if result + LINE_BYTES * lines > 1 << 64:
        result = (1 << 64) - LINE_BYTES * lines
    asked = {
        "edges_address": address,
        "edges": edges,
        "nodes": pick(rng, [0, 1, (1 << 48) - 1]),
        "seed": int(rng.integers(1 << 63)),
        "result_address": result,
        "result_lines": lines,
        "ids_line": pick(rng, [0, lines, int(rng.integers(lines + 1))]),
        "targets": targets,
        "batch": int(rng.integers(1 << 32)),
        "id_bytes": id_bytes,
        "mode": int(rng.integers(4)),
        "hops": hops,
        **{f"fanout_{hop}": fanout for hop, fanout in enumerate(fanouts)},
    }
    entry = {
        "opcode": int(SsdOpcode.SAMPLE),
        "cid": int(rng.integers(1 << 16)),
        "prp1": pick(rng, [0, TOP - 63, int(rng.integers(1 << 56)) * 64]),
        "config_bytes": 64 + 32 * targets,
    }
    return entry, asked


def _near(rng, value, bits):
    """Return a number about another, or anything."""
    mask = (1 << bits) - 1
    choices = [
        0,
        1,
        value + 1,
        value - 1,
        value ^ 1 << int(rng.integers(bits)),
        mask,
        int(rng.integers(1 << 63)) >> int(rng.integers(63)),
    ]
    return pick(rng, choices) & mask


def _spoil(rng, entry, asked, config, pages):
    """Change a field or two; sometimes to just beyond a limit."""
    for _ in range(int(rng.integers(1, 3))):
        kind = int(rng.integers(4))
        if kind == 0:
            name = pick(rng, list(SUBMISSION_BITS))
            entry[name] = _near(rng, entry[name], SUBMISSION_BITS[name])
        elif kind == 1:
            name = pick(rng, list(CONFIG_BITS))
            asked[name] = _near(rng, asked[name], CONFIG_BITS[name])
        else:
            end = pages * config.flash.page_bytes
            limits = {
                "edges": [
                    EDGES_END,
                    EDGES_END + 1,
                    (end - asked["edges_address"]) // 4 % (1 << 64),
                    1 << 61,
                    1 << 62,
                    1 << 63,
                    TOP,
                ],
                "edges_address": [TOP - 7, TOP - 3, end, end + 8, 4, 2],
                "nodes": [EDGES_END - 1, EDGES_END, TOP],
                "id_bytes": [0, 2, 4, 5, 8, 12, 16],
                "mode": [0, 4, 128, 255],
                "hops": [0, 1, 4, 5, 8, 255],
                "fanout_0": [0, 1, config.max_fanout, config.max_fanout + 1, 254, 255],
                f"fanout_{int(rng.integers(1, MOST_HOPS))}": [0, config.max_fanout + 1, 254, 255],
                "result_address": [TOP - 63, TOP - 127, 32, 1, 64],
                "result_lines": [0, 1, 2, (1 << 32) - 1],
                "ids_line": [asked["result_lines"], asked["result_lines"] + 1, (1 << 32) - 1],
                "targets": [0, 1, 1 << 27, (1 << 27) - 2, (1 << 32) - 1],
            }
            name = pick(rng, list(limits))
            asked[name] = pick(rng, limits[name]) & ((1 << CONFIG_BITS[name]) - 1)
            if name == "targets" and rng.integers(2):
                entry["config_bytes"] = (64 + 32 * asked["targets"]) & 0xFFFF_FFFF


def commands(seed, n, config, *, pages=PAGES, spoiled=0.7):
    """Make commands as bytes; bits that mean nothing are set anyhow."""
    rng = np.random.default_rng(seed)
    entries, configs = [], []
    for _ in range(n):
        entry, asked = good(rng, config, pages)
        if rng.random() < spoiled:
            _spoil(rng, entry, asked, config, pages)
        entries.append(entry)
        configs.append(asked)
    made = []
    for layout, rows in ((SUBMISSION, entries), (NS_CONFIG, configs)):
        record = layout.encode(n, {name: np.array([row[name] for row in rows], np.uint64) for name in rows[0]})
        noise, offset = rng.integers(0, 256, record.shape, np.uint8), 0
        for field in layout.fields:
            if not field.name:
                part = slice(offset // 8, (offset + field.bits) // 8)
                record[:, part] = noise[:, part]
            offset += field.bits
        made.append(record)
    return made


def doorbells(seed, n, *, sq_entries, cq_entries, wrong=0.2):
    """Ring doorbells for n commands in groups, with completions read in groups, and some doorbells that are wrong."""
    rng = np.random.default_rng(seed)
    out, rung, freed = [], 0, 0
    while freed < n:
        free = min(n - rung, sq_entries - 1 - (rung - freed))
        if rng.random() < wrong:
            kind = int(rng.integers(3))
            beyond = rung - freed + 1
            if kind == 0 and sq_entries < 1 << 16:
                out.append((0, int(rng.integers(sq_entries, 1 << 16)), 0))
            elif kind == 1:
                out.append((1, int(rng.integers(cq_entries, 1 << 16)), 0))
            elif beyond < cq_entries:
                out.append((1, (freed + int(rng.integers(beyond, cq_entries))) % cq_entries, 0))
        if free > 0 and (rung == freed or rng.integers(2)):
            rung += int(rng.integers(1, free + 1))
            out.append((0, rung % sq_entries, 0))
        elif rung > freed:
            freed += int(rng.integers(1, min(rung - freed, cq_entries - 1) + 1))
            out.append((1, freed % cq_entries, freed))
    return out


def script(seed, n, config, *, sq_entries, cq_entries, pages=PAGES, spoiled=0.7, wrong=0.2):
    """Make commands with doorbells."""
    entries, configs = commands(seed, n, config, pages=pages, spoiled=spoiled)
    return Script(
        entries=entries,
        configs=configs,
        doorbells=doorbells(seed, n, sq_entries=sq_entries, cq_entries=cq_entries, wrong=wrong),
        sq_entries=sq_entries,
        cq_entries=cq_entries,
        pages=pages,
    )

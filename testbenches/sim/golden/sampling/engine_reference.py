"""What commands leave in the host's memory, by plain Python: byte after byte, target after target."""

from sim.program.ssd import COMPLETION, NS_CONFIG, SUBMISSION, TARGET, SsdStatus
from testbenches.sim.golden.sampling.reference import reference_draws, reference_key

ALL = 255
NODES = 1 << 48


def integers(layout, record):
    return {name: int(value[0]) for name, value in layout.decode(record[None]).items()}


class Memory(dict):
    """Bytes by address."""

    def store(self, address, value, n_bytes):
        """Write a number, low byte first."""
        for i, byte in enumerate(value.to_bytes(n_bytes, "little")):
            self[address + i] = byte


def sample(command, memory, ids_of, record_of, bad_page, config):
    """Run one good command; return its status, its detail and the (node, count) of all targets."""
    asked = integers(NS_CONFIG, command.config)
    width = asked["id_bytes"]
    counts_at, counts_end = asked["result_address"], asked["result_address"] + 64 * asked["ids_line"]
    ids_at, ids_end = counts_end, asked["result_address"] + 64 * asked["result_lines"]
    faults, number, written = [], 0, 0
    targets = [integers(TARGET, target) for target in command.targets]
    known_lists = not asked["mode"] & 2
    for hop in range(asked["hops"]):
        key = reference_key(asked["seed"], asked["batch"], hop)
        fanout, found = asked[f"fanout_{hop}"], []
        for target in targets:
            node = target["node"]
            good = node < asked["nodes"]
            offset, degree = target.get("offset", 0), target.get("degree", 0)
            if good and (hop or not known_lists):
                offset, degree = record_of(node)
            good = good and offset < 1 << 48 and degree < 1 << 31 and offset + degree <= asked["edges"]
            failed = not good
            if not good:
                faults.append((SsdStatus.OUT_OF_RANGE, number))
            count = 0 if not good else degree if fanout == ALL else min(degree, fanout)
            for place, _, _ in reference_draws(node, degree, count, key, asked["mode"] & 1):
                edge = offset + place
                page = (asked["edges_address"] + edge * width) // config.flash.page_bytes
                value = ids_of(edge)
                if bad_page(page):
                    failed, value = True, (1 << 64) - 1
                    faults.append((SsdStatus.UNRECOVERED_READ, page))
                if ids_at + width > ids_end:
                    faults.append((SsdStatus.RESULT_TOO_SMALL, number))
                else:
                    memory.store(ids_at, value % (1 << 8 * width), width)
                ids_at += width
                written += 1
                if hop + 1 < asked["hops"]:
                    if len(found) == config.frontier_entries:
                        faults.append((SsdStatus.FRONTIER_FULL, number))
                    else:
                        found.append({"node": min(value, NODES - 1)})
            if counts_at + 4 > counts_end:
                faults.append((SsdStatus.RESULT_TOO_SMALL, number))
            else:
                memory.store(counts_at, count | failed << 31, 4)
            counts_at += 4
            number += 1
        targets = found
    return faults[0] if faults else (SsdStatus.OK, written)


def reference(commands, statuses, host, ids_of, record_of, bad_page, config):
    """Run all commands; `statuses` says which are refused. Return the memory."""
    memory = Memory()
    for place, (command, judged) in enumerate(zip(commands, statuses, strict=True)):
        status, detail = judged, 0
        if judged == SsdStatus.OK:
            status, detail = sample(command, memory, ids_of, record_of, bad_page, config)
        at = host.cq_address + 16 * (place % host.cq_entries)
        cid = integers(SUBMISSION, command.submission)["cid"]
        entry = COMPLETION.encode(
            1,
            {
                "detail": detail, "sq_head": (place + 1) % host.sq_entries, "cid": cid, "status": status,
                "phase": 1 - place // host.cq_entries % 2,
            },
        )  # fmt: skip
        memory.store(at, int.from_bytes(entry[0].tobytes(), "little"), 16)
    return memory

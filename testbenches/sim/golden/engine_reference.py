"""A second golden model of a whole Near-Memory Engine: plain Python, number by number, after docs and layouts alone."""

import struct

from testbenches.sim.golden import reference


class _Memory:
    """Lines by (bank group, bank, row, burst)."""

    def __init__(self, config, image):
        dram, nme = config.dram, config.nme
        self.groups = dram.bank_groups if dram.mapping == "bursts_over_groups" else 1
        self.bank_groups, self.banks = dram.bank_groups, dram.banks_per_group
        self.bursts, self.rows = dram.columns // dram.burst_length, dram.rows // 8
        self.line_bytes = dram.ranks_per_dimm * dram.bus_width_bits * dram.burst_length // 8
        self.beat_bytes = nme.lanes * nme.element_bytes
        self.slice_beats = nme.max_beats
        self.slice_bursts = max(1, self.slice_beats * self.beat_bytes // self.line_bytes // self.groups)
        self.contents = {}
        for address, line in zip(image.addresses.tolist(), image.lines, strict=True):
            rest, burst = divmod(address, self.bursts)
            rest, bank = divmod(rest, self.banks)
            row, group = divmod(rest, self.bank_groups)
            self.contents[group, bank, row, burst] = line.tobytes()

    def addresses(self):
        """Return line addresses to contents, as an image has them."""
        return {
            ((row * self.bank_groups + group) * self.banks + bank) * self.bursts + burst: line
            for (group, bank, row, burst), line in self.contents.items()
        }

    def slices(self, beats):
        return [min(self.slice_beats, beats - low) for low in range(0, beats, self.slice_beats)]

    def lines(self, beats):
        return (beats * self.beat_bytes + self.line_bytes - 1) // self.line_bytes

    def vector_bursts(self, beats):
        return sum(
            self.slice_bursts if part == self.slice_beats else (self.lines(part) + self.groups - 1) // self.groups
            for part in self.slices(beats)
        )

    def stride(self, beats):
        stride = 1
        while stride < self.vector_bursts(beats):
            stride *= 2
        return stride

    def room(self, beats):
        """Count the vectors of one kind."""
        return self.bank_groups // self.groups * self.banks * self.rows * (self.bursts // self.stride(beats))

    def chunks(self):
        return self.bank_groups * self.banks * self.rows * (self.bursts // 4)

    def line_place(self, number, kind, stride, groups, first_burst, line):
        group = line % groups
        if groups == 1:
            group, number = number % self.bank_groups, number // self.bank_groups
        bank, number = number % self.banks, number // self.banks
        burst, row = number * stride % self.bursts, number * stride // self.bursts
        return group, bank, row * 8 + kind, burst + first_burst + line // groups

    def slice_places(self, number, kind, beats, index):
        stride, first = self.stride(beats), index * self.slice_bursts
        lines = self.lines(self.slices(beats)[index])
        return [self.line_place(number, kind, stride, self.groups, first, line) for line in range(lines)]

    def read_slice(self, number, kind, beats, index):
        places = self.slice_places(number, kind, beats, index)
        return b"".join(self.contents[place] for place in places)[: self.slices(beats)[index] * self.beat_bytes]

    def write_vector(self, number, kind, data):
        beats = len(data) // self.beat_bytes
        for index, part in enumerate(self.slices(beats)):
            first = index * self.slice_beats * self.beat_bytes
            places = self.slice_places(number, kind, beats, index)
            padded = data[first : first + part * self.beat_bytes].ljust(len(places) * self.line_bytes, b"\0")
            for line, place in enumerate(places):
                self.contents[place] = padded[line * self.line_bytes : (line + 1) * self.line_bytes]

    def list_chunks(self, count, size):
        per_chunk = 4 * self.line_bytes // size
        return (count + per_chunk - 1) // per_chunk

    def beyond(self, address, count, size):
        return address + self.list_chunks(count, size) - 1 >= self.chunks()

    def read_list(self, address, count, size):
        """Read records of a list, line by line."""
        data = b""
        line = 0
        while len(data) < count * size:
            data += self.contents[self.line_place(address + line // 4, 7, 4, 1, 0, line % 4)]
            line += 1
        return [data[i * size : (i + 1) * size] for i in range(count)]


def run_engine(program, config):
    """Run a program.

    The result has ``partials`` (index, first, last, elements' bits) and ``partials_of`` as the golden model has them,
    ``status`` (tag, code, last, count), and ``memory.addresses()``.
    """
    return _Engine(program, config)


class _Engine:
    """Runs commands; what leaves it gathers in lists."""

    def __init__(self, program, config):
        self.config = config
        self.memory = _Memory(config, program.image)
        self.updates = [record.tobytes() for record in program.updates]
        self.partials, self.partials_of, self.status = [], [], []
        for command in program.commands:
            opcode, kind, beats, tag, count, address = struct.unpack("<BBHHxxII", command.tobytes())
            code = self.judge(opcode, kind, beats, count, address)
            if code:
                self.status.append((tag, code, 1, 0))
            elif opcode == 1:
                for index, record in enumerate(self.memory.read_list(address, count, 32)):
                    self.descriptor(record, index == count - 1)
            else:
                self.store(kind, beats, tag, count)
        assert not self.updates

    def fits(self, beats):
        return beats > 0 and self.memory.vector_bursts(beats) <= self.memory.bursts

    def judge(self, opcode, kind, beats, count, address):
        if opcode not in (1, 2):
            return 1
        if count == 0:
            return 11
        if opcode == 1:
            return 9 if self.memory.beyond(address, count, 32) else 0
        if not self.fits(beats):
            return 2
        return 8 if kind > 6 else 0

    def store(self, kind, beats, tag, count):
        code = written = 0
        for _ in range(count):
            taken = [self.updates.pop(0) for _ in range(beats)]
            (number,) = struct.unpack("<I", taken[0][:4])
            if number < self.memory.room(beats):
                self.memory.write_vector(number, kind, b"".join(beat[4:] for beat in taken))
                written += 1
            else:
                code = 10
        self.status.append((tag, code, 1, written))

    def descriptor(self, record, last):
        opcode, kind, beats, slots, tag, sources, edges, sources_at, edges_at = struct.unpack(
            "<BBHHHIIIIxxxxxxxx", record
        )
        memory = self.memory
        reasons = [
            (1, opcode not in (1, 2, 3, 4)),
            (2, not self.fits(beats)),
            (3, not 0 < slots <= self.config.nme.interval),
            (4, sources == 0),
            (5, edges == 0),
            (8, kind > 6),
            (9, memory.beyond(sources_at, sources, 4) or memory.beyond(edges_at, edges, 8)),
        ]
        code = next((code for code, wrong in reasons if wrong), 0)
        count = 0
        if not code:
            numbers = [int.from_bytes(word, "little") for word in memory.read_list(sources_at, sources, 4)]
            records = [struct.unpack("<HHI", word) for word in memory.read_list(edges_at, edges, 8)]
            marked = [(slot, mark & 1, weight) for slot, mark, weight in records]
            for index, part in enumerate(memory.slices(beats)):
                invalid = False
                vectors = []
                for number in numbers:
                    data = bytes(part * memory.beat_bytes)
                    if number < memory.room(beats):
                        data = memory.read_slice(number, kind, beats, index)
                    else:
                        invalid = True
                    size = memory.beat_bytes
                    vectors += [self.elements(data[i * size : (i + 1) * size]) for i in range(part)]
                partials, (status,) = reference.reduce_streams(
                    [(opcode, part, slots, tag, sources, edges)], marked, vectors, self.config.nme
                )
                code = code or (10 if invalid else status[1])
                count = status[2]
                self.partials += partials
                self.partials_of.append(len(partials))
        self.status.append((tag, code, int(last), count))

    def elements(self, data):
        letter = "H" if self.config.nme.element == "bf16" else "I"
        return struct.unpack(f"<{self.config.nme.lanes}{letter}", data)

"""Compiler of one whole product, from memory to memory, for the Centralized Acceleration Engine."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from sim.config import CaeConfig
from sim.program.cae_memory import MemoryMap
from sim.program.cae_program import CaeProgram, MemoryRows, Rows
from sim.program.instructions import ElementType, ProductKind, ProductPart


class TilingError(ValueError):
    """A product or its tiling does not fit the engine; the message says what is allowed."""


@dataclass(frozen=True, kw_only=True)
class ProductShape:
    """A product and where its matrices stand in memory, row-major.

    Attributes
    ----------
    kind : ProductKind
        Which operand lies across.
    rows, depth, columns : int
        M, K and N.
    lanes : int
        Elements of a beat.
    result_element : ElementType
        How the result is stored; the operands are bf16.
    """

    kind: ProductKind
    rows: int
    depth: int
    columns: int
    lanes: int
    result_element: ElementType = ElementType.FP32

    @property
    def left_shape(self) -> tuple[int, int]:
        """Rows and columns of the left operand as it lies."""
        return (self.depth, self.rows) if self.kind == ProductKind.XTDY else (self.rows, self.depth)

    @property
    def right_shape(self) -> tuple[int, int]:
        """Rows and columns of the right operand as it lies."""
        return (self.columns, self.depth) if self.kind == ProductKind.DYWT else (self.depth, self.columns)

    def memory_map(self) -> MemoryMap:
        """Place the matrices.

        Returns
        -------
        MemoryMap
            ``left``, ``right`` and ``result``, one behind the other.
        """
        placed = MemoryMap(self.lanes)
        placed.add("left", *self.left_shape, ElementType.BF16)
        placed.add("right", *self.right_shape, ElementType.BF16)
        placed.add("result", self.rows, self.columns, self.result_element)
        return placed


@dataclass(frozen=True, kw_only=True)
class ProductTiling:
    """How a product is cut.

    Attributes
    ----------
    tile_rows : int
        Rows (M) of a tile; the last one may have fewer.
    chunk_depth : int
        Part of K that is loaded and run at a time: whole beats.
    first_chunk : int, optional
        That of the very first step, whole beats too: the array waits for nothing else. The chunks that follow double
        up to `chunk_depth`, for the first rows of tiles only. `chunk_depth` if not given.
    ahead : int
        Steps that loads are ahead of the array: fewer than each operand has banks, or one bank is loaded late.
    store_delay : int
        Steps that pass between a tile's last part and its store: transfers are made in order, so a store that waits for
        its tile to drain holds up the loads behind it.
    left_banks : int
        Operand banks for chunks of the left operand; the others are for the right one. One bank is not filled while it
        is read: to hide the loads, each operand needs two.
    """

    tile_rows: int
    chunk_depth: int
    left_banks: int
    first_chunk: int | None = None
    ahead: int = 1
    store_delay: int = 1


class _Region(NamedTuple):
    """A piece of an operand, as it lies in memory: what one LOAD brings, and for which time the product runs."""

    time: int
    row: int
    beat: int
    rows: int
    columns: int


class _Step(NamedTuple):
    """One PRODUCT, with the regions that it reads."""

    left: _Region
    right: _Region
    rows: range
    columns: range
    depth: range


@dataclass
class _Cache:
    """Which region stands in which of some banks."""

    banks: list[int]
    uses: list[_Region]
    held: dict[int, _Region]

    def find(self, region: _Region) -> int | None:
        """Return the bank of a region, if it is there."""
        return next((bank for bank, found in self.held.items() if found == region), None)

    def make_room(self, next_product: int) -> int:
        """Return an empty bank, or the one whose region is needed last from the next product on."""
        later = self.uses[next_product:]

        def next_use(bank: int) -> int:
            region = self.held.get(bank)
            return later.index(region) if region in later else len(later)

        return max(self.banks, key=next_use)


def check_tiling(shape: ProductShape, tiling: ProductTiling, config: CaeConfig) -> None:
    """Refuse a tiling that does not fit the engine.

    Parameters
    ----------
    shape : ProductShape
        The product.
    tiling : ProductTiling
        How to cut it.
    config : CaeConfig
        The engine.

    Raises
    ------
    TilingError
        It does not fit; the message says what is allowed.
    """
    lanes = config.lanes
    for name in ("rows", "depth", "columns"):
        if not 1 <= getattr(shape, name) <= 65535:
            raise TilingError(f"{name} is {getattr(shape, name)}; a product needs 1 to 65535")
    needed = shape.memory_map().beats
    if needed > config.memory_beats:
        raise TilingError(f"the product takes {needed} beats of memory; there are {config.memory_beats}")
    if not 1 <= tiling.left_banks < config.operand_banks:
        raise TilingError(
            f"left_banks is {tiling.left_banks}; of {config.operand_banks} operand banks each side needs one"
        )
    if not 1 <= tiling.tile_rows <= config.accumulator_rows:
        raise TilingError(f"tile_rows is {tiling.tile_rows}; the accumulator memory has 1 to {config.accumulator_rows}")
    if tiling.tile_rows < shape.rows and shape.kind == ProductKind.XTDY and tiling.tile_rows % lanes:
        raise TilingError(f"tile_rows is {tiling.tile_rows}; XTDY needs whole beats of {lanes}")
    _check_steps(shape, tiling, config)
    step = next(_steps(shape, replace(tiling, first_chunk=None), config))
    for side, region in (("left", step.left), ("right", step.right)):
        size = region.rows * -(-region.columns // lanes)
        if size > config.operand_bank_beats:
            raise TilingError(
                f"a {side} chunk takes {size} beats, a bank has {config.operand_bank_beats}: "
                "use a smaller tile_rows or chunk_depth"
            )
    if tiling.tile_rows > config.vector_bank_beats:
        raise TilingError(f"tile_rows is {tiling.tile_rows}; a bank has {config.vector_bank_beats} beats for results")


def _check_steps(shape: ProductShape, tiling: ProductTiling, config: CaeConfig) -> None:
    for name, least in (("ahead", 1), ("store_delay", 0)):
        if getattr(tiling, name) < least:
            raise TilingError(f"{name} is {getattr(tiling, name)}; it must be {least} or more")
    if tiling.store_delay >= config.vector_banks:
        raise TilingError(
            f"store_delay is {tiling.store_delay}; it must be below the {config.vector_banks} vector banks"
        )
    for name in ("chunk_depth", "first_chunk"):
        chunk = getattr(tiling, name) or tiling.chunk_depth
        if chunk < 1 or (chunk < shape.depth and chunk % config.lanes):
            raise TilingError(f"{name} is {chunk}; it must be whole beats of {config.lanes}")


def default_tiling(shape: ProductShape, config: CaeConfig) -> ProductTiling:
    """Cut a product so that its loads hide: tiles of equal rows, half of the banks for each operand.

    With four banks or more for the left operand K comes in as many chunks as there are banks, so that the first product
    starts early and the chunks of a tile stay there for all its columns; with fewer, in one if that fits.

    Parameters
    ----------
    shape : ProductShape
        The product.
    config : CaeConfig
        The engine.

    Returns
    -------
    ProductTiling
        The tiling.
    """
    lanes, left_banks = config.lanes, max(1, config.operand_banks // 2)

    def whole_beats(elements: int) -> int:
        return max(1, -(-elements // lanes)) * lanes

    most_rows = min(config.accumulator_rows, config.vector_bank_beats, config.operand_bank_beats)
    if shape.kind == ProductKind.XTDY:  # a chunk has a beat of K, at least, of as many rows as a beat has elements
        most_rows = max(lanes, min(most_rows, config.operand_bank_beats) // lanes * lanes)
    tile_rows = -(-shape.rows // max(1, -(-shape.rows // most_rows)))
    if shape.kind == ProductKind.XTDY:
        tile_rows = whole_beats(tile_rows)
    # A row of the left chunk has as many beats as the chunk is deep (or, across, the tile is long); the right one as
    # many rows as it is deep (or, across, as the array has columns).
    if shape.kind == ProductKind.XTDY:
        deepest = config.operand_bank_beats // (tile_rows // lanes) // lanes * lanes
    else:
        across = max(tile_rows, config.columns) if shape.kind == ProductKind.DYWT else tile_rows
        deepest = config.operand_bank_beats // across * lanes
    deepest = min(deepest, config.operand_bank_beats // lanes * lanes)
    chunks = left_banks if left_banks >= 4 else 1
    chunk_depth = max(lanes, min(whole_beats(-(-shape.depth // chunks)), deepest))
    banks = min(left_banks, config.operand_banks - left_banks)
    return ProductTiling(
        tile_rows=min(tile_rows, config.accumulator_rows),
        chunk_depth=chunk_depth,
        left_banks=left_banks,
        ahead=max(1, banks - 1),
        store_delay=min(1, config.vector_banks - 1),
    )


def compile_product(shape: ProductShape, tiling: ProductTiling, config: CaeConfig, *, times: int = 1) -> CaeProgram:
    """Compile a product: tile by tile, each chunk loaded ahead, each result stored while the next one runs.

    Parameters
    ----------
    shape : ProductShape
        The product.
    tiling : ProductTiling
        How to cut it.
    config : CaeConfig
        The engine.
    times : int
        Run it so often, all of it from memory to memory each time: what one more takes is what a product costs among
        others, whose loads and stores hide its own.

    Returns
    -------
    CaeProgram
        The instructions.

    Raises
    ------
    TilingError
        The tiling does not fit.
    """
    check_tiling(shape, tiling, config)
    steps = [step for time in range(times) for step in _steps(shape, tiling, config, time)]
    compiler = _Compiler(shape, tiling, config, steps)
    for number in range(len(steps)):
        compiler.add(number)
    return compiler.program


class _Compiler:
    """Instructions so far, and what stands in the banks after them."""

    def __init__(self, shape: ProductShape, tiling: ProductTiling, config: CaeConfig, steps: list[_Step]) -> None:
        self.program, self._steps = CaeProgram(), steps
        self._shape, self._config = shape, config
        self._matrices = shape.memory_map().matrices
        left, right = range(tiling.left_banks), range(tiling.left_banks, config.operand_banks)
        self._left = _Cache(list(left), [step.left for step in self._steps], {})
        self._right = _Cache(list(right), [step.right for step in self._steps], {})
        # A chunk must not take the place of one that is still to be read.
        self._ahead = min(tiling.ahead, len(left), len(right))
        self._delay, self._stores = tiling.store_delay, list[tuple[int, _Step, int]]()
        self._places: list[tuple[Rows, Rows]] = []
        self._results = 0
        for number in range(self._ahead):
            self._fetch(number)

    def add(self, number: int) -> None:
        """Add a step: its product, the loads for one of the next, and the store of what is whole."""
        step, bank = self._steps[number], self._config.operand_banks + self._results % self._config.vector_banks
        self._multiply(step, *self._places[number], bank)
        self._fetch(number + self._ahead)
        after = self._steps[number + 1] if number + 1 < len(self._steps) else None
        beat_is_whole = after is None or after.rows != step.rows or after.columns.start % self._config.lanes == 0
        if step.depth.stop == self._shape.depth and beat_is_whole:
            self._stores.append((number + self._delay, step, bank))
            self._results += 1
        while self._stores and (after is None or self._stores[0][0] <= number):
            _, whole, found = self._stores.pop(0)
            self._store(whole, found)

    def _fetch(self, number: int) -> None:
        if number < len(self._steps):
            step = self._steps[number]
            left = self._load(self._left, step.left, self._matrices["left"].place, number)
            self._places.append((left, self._load(self._right, step.right, self._matrices["right"].place, number)))

    def _load(self, cache: _Cache, region: _Region, matrix: MemoryRows, step: int) -> Rows:
        """Return where a region is, and load it if it is nowhere."""
        bank, pitch = cache.find(region), -(-region.columns // self._config.lanes)
        if bank is None:
            bank = cache.make_room(max(0, step + 1 - self._ahead))
            cache.held[bank] = region
            source = MemoryRows(matrix.address + region.row * matrix.pitch + region.beat, matrix.pitch)
            place = Rows(bank, 0, pitch)
            self.program.load(ElementType.BF16, source, place, rows=region.rows, columns=region.columns)
        return Rows(bank, 0, pitch)

    def _multiply(self, step: _Step, left: Rows, right: Rows, bank: int) -> None:
        part = step.columns.start % self._config.lanes // self._config.columns
        first, last = step.depth.start == 0, step.depth.stop == self._shape.depth
        self.program.product(
            self._shape.kind,
            left,
            right if self._shape.kind == ProductKind.DYWT else replace(right, part=part),
            Rows(bank, 0, 1, part),
            rows=len(step.rows),
            depth=len(step.depth),
            columns=len(step.columns),
            part={
                (True, True): ProductPart.WHOLE,
                (True, False): ProductPart.FIRST,
                (False, False): ProductPart.MIDDLE,
                (False, True): ProductPart.LAST,
            }[first, last],
        )

    def _store(self, step: _Step, bank: int) -> None:
        result, lanes = self._matrices["result"], self._config.lanes
        beat = step.columns.start // lanes
        memory_beats = 2 if result.element == ElementType.FP32 else 1
        address = result.place.address + step.rows.start * result.place.pitch + beat * memory_beats
        self.program.store(
            result.element,
            Rows(bank),
            MemoryRows(address, result.place.pitch),
            rows=len(step.rows),
            columns=step.columns.stop - beat * lanes,
        )


def _steps(shape: ProductShape, tiling: ProductTiling, config: CaeConfig, time: int = 0) -> Iterator[_Step]:
    lanes = config.lanes
    for m in _cut(shape.rows, tiling.tile_rows):
        for n in _cut(shape.columns, config.columns):
            beat = n.start // lanes
            whole = range(beat * lanes, min((beat + 1) * lanes, shape.columns))
            for k in _chunks(shape.depth, tiling, is_first=m.start == time == 0):
                across, along = (k, m) if shape.kind == ProductKind.XTDY else (m, k)
                left = _Region(time, across.start, along.start // lanes, len(across), len(along))
                if shape.kind == ProductKind.DYWT:
                    right = _Region(time, n.start, k.start // lanes, len(n), len(k))
                else:
                    right = _Region(time, k.start, beat, len(k), len(whole))
                yield _Step(left, right, m, n, k)


def _cut(size: int, piece: int) -> list[range]:
    return [range(start, min(start + piece, size)) for start in range(0, size, piece)]


def _chunks(depth: int, tiling: ProductTiling, *, is_first: bool) -> list[range]:
    size = min(tiling.first_chunk or tiling.chunk_depth, tiling.chunk_depth) if is_first else tiling.chunk_depth
    chunks, start = [], 0
    while start < depth:
        chunks.append(range(start, min(start + size, depth)))
        start, size = start + size, min(2 * size, tiling.chunk_depth)
    return chunks

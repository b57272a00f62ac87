"""The instructions of the Centralized Acceleration Engine, its status, and the beats at its ports."""

from enum import IntEnum

from sim.program.layout import Field, Layout


class CaeOpcode(IntEnum):
    """What an instruction asks for, and so which unit runs it."""

    LOAD = 1
    """Memory to bank."""
    STORE = 2
    """Bank to memory."""
    PRODUCT = 3
    """One tile of a product on the systolic array."""
    MERGE = 4
    """Add up partial sums of the Near-Memory Engines."""
    VECTOR = 5
    """Element by element, then a reduction if wanted."""
    SYNCHRONISE = 6
    """Waits for all instructions before; those after wait for it."""


class ElementType(IntEnum):
    """LOAD, STORE: how elements stand in memory."""

    BF16 = 1
    """One beat of memory holds a beat of elements."""
    FP32 = 2
    """A beat of elements takes two beats of memory, the low lanes in the first."""


class ProductKind(IntEnum):
    """PRODUCT: which operand is read across. M rows, K depth and N columns are those of the result's dot products."""

    XW = 1
    """left [M, K] times right [K, N]."""
    DYWT = 2
    """left [M, K] times the transpose of right [N, K]."""
    XTDY = 3
    """The transpose of left [K, M] times right [K, N]."""


class ProductPart(IntEnum):
    """PRODUCT: which part of K it is; the sums of all but the last part stay in the accumulator memory."""

    WHOLE = 0
    """From +0, and written to the result."""
    FIRST = 1
    """From +0, and kept."""
    LAST = 2
    """From what is kept, and written to the result."""
    MIDDLE = 3
    """From what is kept, and kept."""


class VectorOperation(IntEnum):
    """VECTOR: what becomes of an element a of left and b of right, before the function.

    alpha and beta are fp32 numbers of the instruction. Every product and every sum is rounded by itself.
    """

    COMBINE = 1
    """alpha a + beta b."""
    MULTIPLY = 2
    """a times b, rounded once."""
    AFFINE = 3
    """alpha a + beta."""
    MAXIMUM = 4
    """The greater of a and b, NaN if either is (IEEE 754-2019 maximum)."""
    LEAKY_RELU = 5
    """a where a > 0, else alpha a."""
    RELU_GRADIENT = 6
    """a where b > 0, else +0: b is the activation's input or its result."""
    LEAKY_RELU_GRADIENT = 7
    """a where b > 0, else alpha a."""
    ELU_GRADIENT = 8
    """a where b > 0, else a b + alpha a: b is ELU's result."""
    SELECT_POSITIVE = 9
    """b where b > 0, else alpha a + beta: with a = exp(b) and beta = -alpha this is ELU."""
    ROOT = 10
    """a where a is a zero or +infinity, else a b: the square root of a, where b is its reciprocal square root."""
    DROPOUT = 11
    """alpha a where the element is kept, else +0.

    Threefry-2x32-20 with `key` as (low word, high word), counter (depth + row, column // 2); the first word of its
    result is drawn for even columns, the second for odd ones. An element is kept if the draw is below beta, as an
    unsigned number.
    """


class VectorFunction(IntEnum):
    """VECTOR: what is applied to the operation's result."""

    NONE = 0
    """Nothing is applied."""
    RELU = 1
    """The greater of it and +0; NaN stays."""
    EXP = 2
    """e to its power."""
    LOG = 3
    """Its natural logarithm."""
    RECIPROCAL = 4
    """1 divided by it."""
    RECIPROCAL_SQRT = 5
    """1 divided by its square root."""


class VectorReduction(IntEnum):
    """VECTOR: what is written."""

    NONE = 0
    """Every element."""
    ROW_SUM = 1
    """The sum of each row, in all lanes of one beat."""
    ROW_MAXIMUM = 2
    """The maximum of each row, in all lanes of one beat."""
    COLUMN_SUM = 3
    """The sum of each column, as one row."""


class RightOperand(IntEnum):
    """VECTOR: where b comes from."""

    NONE = 0
    """Nowhere: the operation has no b."""
    SAME = 1
    """b is a itself: nothing else is read."""
    FULL = 2
    """A matrix of left's shape."""
    BY_ROW = 3
    """One beat for each row, read lane by lane: what ROW_SUM and ROW_MAXIMUM write."""
    BY_COLUMN = 4
    """One row for all rows."""


NEEDS_RIGHT = frozenset(
    {
        VectorOperation.COMBINE,
        VectorOperation.MULTIPLY,
        VectorOperation.MAXIMUM,
        VectorOperation.RELU_GRADIENT,
        VectorOperation.LEAKY_RELU_GRADIENT,
        VectorOperation.ELU_GRADIENT,
        VectorOperation.SELECT_POSITIVE,
        VectorOperation.ROOT,
    }
)
"""Operations with a b: they need a `RightOperand` other than NONE, all others need NONE."""


class CaeCode(IntEnum):
    """How an instruction ended; of several reasons to refuse it the one with the lowest number."""

    OK = 0
    """All was done."""
    BAD_OPCODE = 1
    """Refused: the opcode is not known."""
    BAD_OPERATION = 2
    """Refused: no such operation, function, reduction, right operand, part or unit; or an operation that needs a right
    operand has none, or the other way round."""
    BAD_ROWS = 3
    """Refused: 0 rows, more than the accumulator memory has, or other rows than those of the sums that were kept."""
    BAD_COLUMNS = 4
    """Refused: 0 columns, or a PRODUCT with more than the array has, or other columns than those of the sums that were
    kept."""
    BAD_DEPTH = 5
    """Refused: a PRODUCT whose depth is 0 or above 65,535, or a MERGE with no source or one that there is not."""
    BAD_BANK = 6
    """Refused: no such bank, a PRODUCT's operand in a bank of fp32, two operands in one bank, or a result in the bank
    of an operand: but for element-wise VECTORs in place. Parts of a PRODUCT that are kept name a result's bank too."""
    BAD_ADDRESS = 7
    """Refused: an operand or the result goes beyond the end of its bank, or a part beyond its beat."""
    BAD_MEMORY = 8
    """Refused: a transfer goes beyond the end of the memory."""
    PARTIAL_SLOT = 9
    """A partial sum's slot or beat was not expected: it was dropped, the others were added."""


CAE_INSTRUCTION = Layout(
    "CaeInstruction",
    (
        Field(name="opcode", bits=8, meaning="`CaeOpcode`"),
        Field(name="operation", bits=8, meaning="by opcode: element type, product kind or vector operation"),
        Field(name="function", bits=8, meaning="VECTOR: `VectorFunction`; PRODUCT: `ProductPart`"),
        Field(name="reduction", bits=8, meaning="VECTOR: `VectorReduction`"),
        Field(name="right_operand", bits=8, meaning="VECTOR: `RightOperand`"),
        Field(name="unit", bits=8, meaning="VECTOR: which vector unit"),
        Field(name="tag", bits=16, meaning="any number; comes back in the status"),
        Field(name="rows", bits=16, meaning="rows; M of a PRODUCT, destination slots of a MERGE"),
        Field(name="columns", bits=16, meaning="elements of a row; N of a PRODUCT"),
        Field(
            name="depth", bits=32, meaning="K of a PRODUCT; MERGE: mask of sources; DROPOUT: number of the first row"
        ),
        *(
            field
            for operand in ("left", "right", "result")
            for field in (
                Field(name=f"{operand}_bank", bits=8, meaning=f"{operand}: bank"),
                Field(name=f"{operand}_part", bits=8, meaning=f"{operand}: part of a beat, PRODUCT only"),
                Field(name=f"{operand}_pitch", bits=16, meaning=f"{operand}: beats from one row to the next"),
                Field(name=f"{operand}_address", bits=32, meaning=f"{operand}: first beat in the bank"),
            )
        ),
        Field(name="alpha", bits=32, meaning="VECTOR: fp32 number"),
        Field(name="beta", bits=32, meaning="VECTOR: fp32 number; DROPOUT: draws below it are kept"),
        Field(name="memory_address", bits=32, meaning="LOAD, STORE: first beat in the memory"),
        Field(name="memory_pitch", bits=32, meaning="LOAD, STORE: beats of memory from one row to the next"),
        Field(name="key", bits=64, meaning="DROPOUT: key of the draws"),
    ),
)
"""One instruction; fields that its opcode does not use are not looked at."""

CAE_STATUS = Layout(
    "CaeStatus",
    (
        Field(name="tag", bits=16, meaning="the instruction's tag"),
        Field(name="code", bits=8, meaning="`CaeCode`"),
        Field(name="opcode", bits=8, meaning="the instruction's opcode"),
    ),
)
"""The end of an instruction; in the order of the instructions."""


def memory_request(lanes: int) -> Layout:
    """Return the layout of a request to the memory.

    Parameters
    ----------
    lanes : int
        Elements in a beat.

    Returns
    -------
    Layout
        Fields: ``address``, ``write``, ``data``.
    """
    return Layout(
        "CaeMemoryRequest",
        (
            Field(name="address", bits=32, meaning="beat in the memory"),
            Field(name="write", bits=1, meaning="1 to write, 0 to read"),
            Field(name="", bits=31),
            Field(name="data", bits=16, count=lanes, meaning="what to write, low lanes first; 0 in a read"),
        ),
    )


def partial_beat(lanes: int) -> Layout:
    """Return the layout of a beat of partial sums, as a source of MERGE sends them.

    A source sends vectors by rising slot, only of those slots it has sums for, then one beat with ``end``.

    Parameters
    ----------
    lanes : int
        Elements in a beat.

    Returns
    -------
    Layout
        Fields: ``index``, ``first``, ``last``, ``end``, ``data``.
    """
    return Layout(
        "PartialBeat",
        (
            Field(name="index", bits=16, meaning="destination slot"),
            Field(name="first", bits=1, meaning="1 on the first beat of a vector"),
            Field(name="last", bits=1, meaning="1 on the last beat of a vector"),
            Field(name="end", bits=1, meaning="1 on the beat after the last vector; nothing else in it counts"),
            Field(name="", bits=13),
            Field(name="data", bits=32, count=lanes, meaning="fp32 elements, low index first"),
        ),
    )

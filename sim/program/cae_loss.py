"""Soft-max with cross-entropy and its gradient, over the labelled rows, as vector instructions."""

from sim.program.cae_program import CaeProgram, Rows
from sim.program.cae_space import BankSpace
from sim.program.instructions import RightOperand, VectorFunction, VectorOperation, VectorReduction


def cross_entropy(
    program: CaeProgram,
    space: BankSpace,
    logits: Rows,
    labels: Rows,
    mask: Rows,
    *,
    rows: int,
    columns: int,
    labelled: int,
    bank: int,
) -> tuple[Rows, Rows]:
    """Add the mean cross-entropy of the labelled rows and its gradient by the logits.

    With m the maximum of a row of logits z, e = exp(z - m) and s the sum of e, a labelled row's share of the loss is
    (log(s) + m - z_label) / labelled, and its gradient (e / s - label) / labelled. Rows without a label have 0.

    Parameters
    ----------
    program : CaeProgram
        Where the instructions go.
    space : BankSpace
        Room for what is in between.
    logits : Rows
        fp32 [rows, columns].
    labels : Rows
        [rows, columns] in another bank: 1 for the label of a labelled row, else 0.
    mask : Rows
        A number for each row, in all lanes, in the bank of the labels: 1 for a labelled row, else 0.
    rows, columns, labelled : int
        Vertices, classes, and rows with a label.
    bank : int
        A third bank of fp32, for the results.

    Returns
    -------
    tuple of Rows
        The gradient, fp32 [rows, columns], and the loss, one number in lane 0.
    """
    op, by_row, share = VectorOperation, RightOperand.BY_ROW, 1 / labelled
    size, each = (rows, columns), (rows, space.config.lanes)
    maximum, total = (space.row_numbers(labels.bank, rows) for _ in range(2))
    row_loss, picked = space.row_numbers(logits.bank, rows), space.row_numbers(bank, rows)
    probability = space.matrix(logits.bank, rows, columns)
    gradient, loss = space.matrix(bank, rows, columns), space.row_numbers(bank, 1)
    exponentials = gradient  # until the gradient takes its place

    program.copy(logits, maximum, size, reduction=VectorReduction.ROW_MAXIMUM)
    program.vector(
        op.COMBINE,
        logits,
        exponentials,
        size,
        right=maximum,
        mode=by_row,
        alpha=1.0,
        beta=-1.0,
        function=VectorFunction.EXP,
    )
    program.copy(exponentials, total, size, reduction=VectorReduction.ROW_SUM)

    program.copy(total, row_loss, each, function=VectorFunction.LOG)
    program.vector(op.COMBINE, row_loss, row_loss, each, right=maximum, alpha=1.0, beta=1.0)
    program.vector(op.MULTIPLY, logits, picked, size, right=labels, reduction=VectorReduction.ROW_SUM)
    program.vector(op.COMBINE, row_loss, row_loss, each, right=picked, alpha=share, beta=-share)
    program.vector(op.MULTIPLY, row_loss, row_loss, each, right=mask)
    program.copy(row_loss, loss, (rows, 1), reduction=VectorReduction.COLUMN_SUM)

    program.copy(total, total, each, function=VectorFunction.RECIPROCAL)
    program.vector(op.MULTIPLY, exponentials, probability, size, right=total, mode=by_row)
    program.vector(op.MULTIPLY, probability, probability, size, right=mask, mode=by_row)
    program.vector(op.COMBINE, probability, gradient, size, right=labels, alpha=share, beta=-share)
    return gradient, loss

"""The table of cells: that it is read as it is written, and that a block still has the cells it says."""

from testbenches.synthesis import BLOCKS, PAGE, Cells, committed, synthesize, written

PAGE_TEXT = """# Cells

Some text.

| block | gates | flip-flops |
|---|--:|--:|
| old block | 1 | 2 |

The end.
"""


def test_table_comes_back():
    cells = {"a block, 4 x 4": Cells(logic=1234567, flip_flops=0), "another": Cells(logic=1, flip_flops=1000)}
    page = written(PAGE_TEXT, cells)
    assert committed(page) == cells
    assert page.startswith("# Cells\n\nSome text.\n\n| block")
    assert page.endswith("| another | 1 | 1,000 |\n\nThe end.\n")


def test_page_lists_every_block():
    assert list(committed(PAGE.read_text(encoding="utf-8"))) == list(BLOCKS)


def test_processing_element_has_the_cells_of_the_table():
    name = "processing element"
    assert synthesize(BLOCKS[name]()) == committed(PAGE.read_text(encoding="utf-8"))[name]

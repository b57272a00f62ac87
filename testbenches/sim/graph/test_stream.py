"""Plain and gzip files, whole and damaged, in blocks of any size."""

import gzip

import pytest

from sim.graph import GraphError, stream

TEXT = b"".join(b"%d %d\n" % (i, i * i) for i in range(500))


def test_gzip_is_recognised_by_its_bytes_not_by_its_name(tmp_path):
    for name, contents in (("plain.gz", TEXT), ("zipped.txt", gzip.compress(TEXT)), ("empty", b"")):
        path = tmp_path / name
        path.write_bytes(contents)
        with stream.open_bytes(path) as file:
            assert file.read() == (TEXT if contents else b"")


def test_gzip_of_several_members(tmp_path):
    path = tmp_path / "two.gz"
    path.write_bytes(gzip.compress(TEXT) + gzip.compress(TEXT))
    assert b"".join(stream.line_blocks(path)) == TEXT + TEXT


@pytest.mark.parametrize("size", [12, 13, 64, 1 << 20])
@pytest.mark.parametrize("ending", [b"", b"1 2", b"\n\n"])
def test_blocks_are_whole_lines(tmp_path, monkeypatch, size, ending):
    monkeypatch.setattr(stream, "BLOCK_BYTES", size)
    path = tmp_path / "lines"
    path.write_bytes(TEXT + ending)
    blocks = list(stream.line_blocks(path))
    assert b"".join(blocks) == TEXT + ending
    assert all(block.endswith(b"\n") for block in blocks[:-1])
    assert len(blocks) > 1 or size > len(TEXT)


def test_endless_line_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "BLOCK_BYTES", 64)
    path = tmp_path / "endless"
    path.write_bytes(b"1 2\n" + b"7" * 1000)
    with pytest.raises(GraphError, match="endless: has a line of more than 64 bytes"):
        list(stream.line_blocks(path))


@pytest.mark.parametrize("kept", [3, 12, 200, -8, -1])
def test_truncated_gzip_is_refused(tmp_path, kept):
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(TEXT)[:kept])
    with pytest.raises(GraphError, match=r"cut.gz: the gzip stream is truncated"):
        list(stream.line_blocks(path))


@pytest.mark.parametrize("at", [2, 40, -6, -2])
def test_damaged_gzip_is_refused(tmp_path, at):
    path = tmp_path / "damaged.gz"
    contents = bytearray(gzip.compress(TEXT))
    contents[at] ^= 0xFF
    path.write_bytes(contents)
    with pytest.raises(GraphError, match=r"damaged.gz: the gzip stream is (damaged|truncated)"):
        list(stream.line_blocks(path))


def test_what_is_no_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(GraphError, match="cannot be read"):
            list(stream.line_blocks(path))

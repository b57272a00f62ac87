"""Files as bytes: gzip is recognised by its first bytes, never by the name, and every failure names the file."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from sim.graph.errors import GraphError

BLOCK_BYTES = 1 << 24
"""How much text is held at a time; also the longest line that is accepted."""


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file, plain or gzip, for reading.

    Parameters
    ----------
    path : Path
        The file.

    Yields
    ------
    binary file
        The uncompressed bytes.

    Raises
    ------
    GraphError
        The file cannot be read, or its gzip stream is truncated or damaged; also while the caller reads.
    """
    try:
        with path.open("rb") as raw:
            if raw.peek(2)[:2] == b"\x1f\x8b":
                with gzip.GzipFile(fileobj=raw) as unzipped:
                    yield cast(BinaryIO, unzipped)
            else:
                yield raw
    except EOFError as error:
        raise GraphError(f"{path}: the gzip stream is truncated; fetch the file again") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise GraphError(f"{path}: the gzip stream is damaged ({error}); fetch the file again") from error
    except OSError as error:
        raise GraphError(f"{path}: cannot be read: {error.strerror or error}") from error


def line_blocks(path: Path) -> Iterator[bytes]:
    """Give a file in blocks of whole lines, so that no text file is ever in memory as a whole.

    Parameters
    ----------
    path : Path
        The file, plain or gzip.

    Yields
    ------
    bytes
        Lines with their line ends; only the file's last line may lack it.

    Raises
    ------
    GraphError
        As `open_bytes`; or a line is longer than `BLOCK_BYTES`.
    """
    with open_bytes(path) as stream:
        rest = b""
        while block := stream.read(BLOCK_BYTES):
            end = block.rfind(b"\n") + 1
            if end == 0 and len(rest) + len(block) > BLOCK_BYTES:
                raise GraphError(f"{path}: has a line of more than {BLOCK_BYTES:,} bytes: not an edge list")
            if end:
                yield rest + block[:end]
                rest = block[end:]
            else:
                rest += block
        if rest:
            yield rest

"""The file image of a graph on the SSD: a header, the edge list, the record of each node."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim.program.layout import Field, Layout
from sim.program.ssd import NODE_RECORD
from sim.program.ssd_host import EdgeList

MAGIC = int.from_bytes(b"NEARSAGE", "little")
VERSION = 1

MOST_ADDRESS = 1 << 36
"""Largest address of an edge list: images are made in memory."""

IMAGE_HEADER = Layout(
    "ImageHeader",
    (
        Field(name="magic", bits=64, meaning="the letters NEARSAGE"),
        Field(name="version", bits=32, meaning="1"),
        Field(name="page_bytes", bits=32, meaning="bytes of a page; the parts begin on pages"),
        Field(name="nodes", bits=64, meaning="nodes of the graph"),
        Field(name="edges", bits=64, meaning="edges of the graph"),
        Field(name="edges_address", bits=64, meaning="byte at which the edge list begins"),
        Field(name="records_address", bits=64, meaning="byte at which the nodes' records begin"),
        Field(name="id_bytes", bits=32, meaning="4 or 8: width of an id in the edge list"),
        Field(name="", bits=32),
        Field(name="", bits=64),
    ),
)
"""First bytes of an image."""


class ImageError(ValueError):
    """A graph does not fit an image, or a file is none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FlashImage:
    """A graph as it lies on the SSD.

    Attributes
    ----------
    edges : EdgeList
        Where the edge list lies.
    records_address : int
        Byte at which the nodes' records begin.
    page_bytes : int
        Bytes of a page.
    data : ndarray of uint8
        Whole pages, from page 0 on.
    """

    edges: EdgeList
    records_address: int
    page_bytes: int
    data: NDArray[np.uint8]

    @property
    def pages(self) -> int:
        """Pages of the image."""
        return len(self.data) // self.page_bytes


def make_image(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    *,
    page_bytes: int,
    id_bytes: int = 8,
    edges_address: int | None = None,
) -> FlashImage:
    """Lay a graph out.

    Parameters
    ----------
    indptr, indices : ndarray of int64, shapes [nodes + 1] and [edges]
        Rows of neighbours.
    page_bytes : int
        Bytes of a page.
    id_bytes : int
        4 or 8.
    edges_address : int, optional
        Byte at which the edge list begins, a multiple of `id_bytes` behind the header; by default the second page.

    Returns
    -------
    FlashImage
        The image: header in page 0, edge list, and from the page after it the records.

    Raises
    ------
    ImageError
        Ids do not fit their width, or the address does not serve.
    """
    address = page_bytes if edges_address is None else edges_address
    nodes, edges = len(indptr) - 1, len(indices)
    if id_bytes not in (4, 8):
        raise ImageError(f"ids of {id_bytes} bytes: they must have 4 or 8")
    if nodes >= 1 << 8 * id_bytes:  # all ones stand for an id that cannot be read
        raise ImageError(f"{nodes} nodes do not fit ids of {id_bytes} bytes; use 8")
    if address % id_bytes or not IMAGE_HEADER.bytes <= address <= MOST_ADDRESS:
        raise ImageError(
            f"the edge list cannot begin at byte {address}: it must be a multiple of {id_bytes} behind the header "
            f"of {IMAGE_HEADER.bytes} bytes, up to {MOST_ADDRESS}"
        )

    def whole(n_bytes: int) -> int:
        return -(-n_bytes // page_bytes) * page_bytes

    records_address = whole(address + edges * id_bytes)
    data = np.zeros(whole(records_address + nodes * NODE_RECORD.bytes), np.uint8)
    header = IMAGE_HEADER.encode(
        1,
        {
            "magic": MAGIC,
            "version": VERSION,
            "page_bytes": page_bytes,
            "nodes": nodes,
            "edges": edges,
            "edges_address": address,
            "records_address": records_address,
            "id_bytes": id_bytes,
        },
    )
    data[: IMAGE_HEADER.bytes] = header[0]
    data[address : address + edges * id_bytes] = indices.astype(f"<u{id_bytes}").view(np.uint8)
    records = node_records(indptr)
    data[records_address : records_address + records.size] = records.reshape(-1)
    return FlashImage(
        edges=EdgeList(address=address, edges=edges, nodes=nodes, id_bytes=id_bytes),
        records_address=records_address,
        page_bytes=page_bytes,
        data=data,
    )


def node_records(indptr: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Encode where each node's list lies.

    Parameters
    ----------
    indptr : ndarray of int64, shape [nodes + 1]
        Rows.

    Returns
    -------
    ndarray of uint8, shape [nodes, NODE_RECORD.bytes]
        The records.
    """
    return NODE_RECORD.encode(len(indptr) - 1, {"offset": indptr[:-1], "degree": np.diff(indptr)})


def read_image(data: NDArray[np.uint8]) -> FlashImage:
    """Read an image's header.

    Parameters
    ----------
    data : ndarray of uint8
        The file's bytes; a memory map will do.

    Returns
    -------
    FlashImage
        The image over the same bytes.

    Raises
    ------
    ImageError
        It is no image, of another version, or broken off.
    """
    if len(data) < IMAGE_HEADER.bytes:
        raise ImageError(f"{len(data)} bytes are no flash image")
    fields = {name: int(value[0]) for name, value in IMAGE_HEADER.decode(data[None, : IMAGE_HEADER.bytes]).items()}
    if fields["magic"] != MAGIC:
        raise ImageError("no flash image: it does not begin with NEARSAGE")
    if fields["version"] != VERSION:
        raise ImageError(f"a flash image of version {fields['version']}; this program reads version {VERSION}")
    page_bytes, id_bytes = fields["page_bytes"], fields["id_bytes"]
    edges_end = fields["edges_address"] + fields["edges"] * id_bytes
    end = fields["records_address"] + fields["nodes"] * NODE_RECORD.bytes
    if len(data) < end:
        raise ImageError(f"the flash image is broken off: {len(data)} of {end} bytes are there")
    for is_wrong, problem in (
        (page_bytes < 1 or len(data) % page_bytes != 0, f"{len(data)} bytes are no whole pages of {page_bytes}"),
        (id_bytes not in (4, 8), f"ids have {id_bytes} bytes; they must have 4 or 8"),
        (id_bytes and fields["edges_address"] % id_bytes, "the edge list is not aligned to its ids"),
        (edges_end > fields["records_address"], "the edge list runs into the nodes' records"),
        (page_bytes and fields["records_address"] % page_bytes, "the nodes' records do not begin on a page"),
    ):
        if is_wrong:
            raise ImageError(f"the flash image is damaged: {problem}")
    return FlashImage(
        edges=EdgeList(
            address=fields["edges_address"],
            edges=fields["edges"],
            nodes=fields["nodes"],
            id_bytes=fields["id_bytes"],
        ),
        records_address=fields["records_address"],
        page_bytes=fields["page_bytes"],
        data=data,
    )


def read_image_file(file: Path) -> FlashImage:
    """Read an image from its file; the pages stay there until they are looked at.

    Parameters
    ----------
    file : Path
        The file.

    Returns
    -------
    FlashImage
        The image.

    Raises
    ------
    ImageError
        It is no image; the message names the file.
    """
    if file.stat().st_size == 0:
        raise ImageError(f"{file}: 0 bytes are no flash image")
    try:
        return read_image(np.memmap(file, np.uint8, mode="r"))
    except ImageError as error:
        raise ImageError(f"{file}: {error}") from None

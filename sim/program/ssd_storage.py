"""What lies in the SSD: ids on the flash, records of nodes and the page map in the DRAM, pages that cannot be read."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sim.config import FlashConfig
from sim.program.ssd import NODE_RECORD, PAGE_ENTRY
from sim.program.ssd_host import EdgeList
from sim.program.ssd_image import FlashImage

BEAT_BYTES = 16
"""Bytes of a beat of the SSD's DRAM."""

FORMULA_MULTIPLIER = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, odd: what `FormulaStorage` stirs addresses with."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PageMap:
    """Where each logical page lies: by itself, unless it is listed.

    Attributes
    ----------
    page : ndarray of int64, ascending
        Logical pages that are listed.
    place : ndarray of int64
        Their physical pages, or where their copy begins in the DRAM, in beats.
    hot : ndarray of bool
        Whether the DRAM holds a copy.
    """

    page: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    place: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    hot: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))

    def look_up(self, page: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the places of pages, and which are copies in the DRAM.

        Parameters
        ----------
        page : ndarray of int64
            Logical pages.

        Returns
        -------
        place : ndarray of int64
            Physical page, or beat of the DRAM.
        hot : ndarray of bool
            Which of the two.
        """
        if not len(self.page):
            return page, np.zeros(page.shape, np.bool_)
        at = np.minimum(np.searchsorted(self.page, page), len(self.page) - 1)
        listed = self.page[at] == page
        return np.where(listed, self.place[at], page), listed & self.hot[at]


@dataclass(frozen=True, kw_only=True, eq=False)
class Storage(ABC):
    """Contents of the SSD.

    Attributes
    ----------
    edges : EdgeList
        Where the edge list lies.
    page_map : PageMap
        Where the pages lie.
    bad_pages : ndarray of int64
        Physical pages that cannot be read.
    """

    edges: EdgeList
    page_map: PageMap = field(default_factory=PageMap)
    bad_pages: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @abstractmethod
    def ids(self, address: NDArray[np.int64], id_bytes: int) -> NDArray[np.uint64]:
        """Return what the flash holds, as ids.

        Parameters
        ----------
        address : ndarray of int64
            Bytes of the SSD, multiples of `id_bytes`.
        id_bytes : int
            4 or 8.

        Returns
        -------
        ndarray of uint64
            The ids; 0 behind the contents.
        """

    @abstractmethod
    def records(self, node: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where nodes' lists begin and how long they are.

        Parameters
        ----------
        node : ndarray of int64
            Nodes, below `EdgeList.nodes`.

        Returns
        -------
        offset, degree : ndarray of int64
            Edge with which the list begins; its edges.
        """


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphStorage(Storage):
    """A flash image.

    Attributes
    ----------
    data : ndarray of uint8
        Whole pages.
    begin, degree : ndarray of int64, shape [nodes]
        Where each node's list begins, and its edges.
    """

    data: NDArray[np.uint8]
    begin: NDArray[np.int64]
    degree: NDArray[np.int64]

    def ids(self, address: NDArray[np.int64], id_bytes: int) -> NDArray[np.uint64]:
        """Return what the flash holds, as ids."""
        words = self.data.view(f"<u{id_bytes}")
        word = address // id_bytes
        return np.where(word < len(words), words[np.minimum(word, len(words) - 1)], 0).astype(np.uint64)

    def records(self, node: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where nodes' lists begin and how long they are."""
        return self.begin[node], self.degree[node]


@dataclass(frozen=True, kw_only=True, eq=False)
class FormulaStorage(Storage):
    """A graph of any size by arithmetic: node v has edges v * degree .. (v + 1) * degree - 1, ids of 8 bytes.

    The word w of the flash, 8 bytes each, is ``(w * FORMULA_MULTIPLIER mod 2^64) >> (64 - node_bits)``.

    Attributes
    ----------
    node_bits : int
        There are 2^node_bits nodes.
    degree : int
        Of each node.
    """

    node_bits: int
    degree: int

    def ids(self, address: NDArray[np.int64], id_bytes: int) -> NDArray[np.uint64]:
        """Return what the flash holds, as ids."""
        word = address.astype(np.uint64) // np.uint64(8)
        ids = (word * np.uint64(FORMULA_MULTIPLIER)) >> np.uint64(64 - self.node_bits)
        if id_bytes == 8:
            return ids
        return (ids >> np.uint64(8) * (address.astype(np.uint64) % np.uint64(8))) & np.uint64(0xFFFFFFFF)

    def records(self, node: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where nodes' lists begin and how long they are."""
        return node * self.degree, np.full(node.shape, self.degree, np.int64)


def formula_storage(*, node_bits: int, degree: int) -> FormulaStorage:
    """Make a graph by arithmetic.

    Parameters
    ----------
    node_bits : int
        There are 2^node_bits nodes, 1 to 40.
    degree : int
        Of each node.

    Returns
    -------
    FormulaStorage
        Its edge list begins at byte 0.
    """
    edges = EdgeList(address=0, edges=degree << node_bits, nodes=1 << node_bits, id_bytes=8)
    return FormulaStorage(edges=edges, node_bits=node_bits, degree=degree)


@dataclass(frozen=True, kw_only=True, eq=False)
class DramImage:
    """The SSD's DRAM before the first command.

    Attributes
    ----------
    beats : ndarray of uint8, shape [n, 16]
        Its first beats: records of the nodes, page map, copies of hot pages.
    records_base, map_base : int
        Beats at which records and map begin.
    """

    beats: NDArray[np.uint8]
    records_base: int
    map_base: int


def hottest_pages(image: FlashImage, count: int) -> NDArray[np.int64]:
    """Choose the pages worth a copy in the DRAM: those that hold most lists, as each list is drawn from as often.

    Parameters
    ----------
    image : FlashImage
        The SSD's contents.
    count : int
        Pages at most.

    Returns
    -------
    ndarray of int64, ascending
        Logical pages of the edge list.
    """
    first = image.edges.address // image.page_bytes
    pages = image.edges.pages(image.page_bytes) - first
    begin, degree = _rows(image)
    alive = degree > 0
    start = image.edges.address + begin[alive] * image.edges.id_bytes
    lists = np.bincount(start // image.page_bytes - first, minlength=pages)
    order = np.argsort(-lists, kind="stable")[:count]
    return np.sort(order + first).astype(np.int64)


def _rows(image: FlashImage) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    size = image.edges.nodes * NODE_RECORD.bytes
    records = image.data[image.records_address : image.records_address + size].reshape(-1, NODE_RECORD.bytes)
    fields = NODE_RECORD.decode(records)
    return fields["offset"].astype(np.int64), fields["degree"].astype(np.int64)


def graph_storage(image: FlashImage, *, hot_pages: int = 0, bad_pages: tuple[int, ...] = ()) -> GraphStorage:
    """Make the contents of an SSD that holds an image.

    Parameters
    ----------
    image : FlashImage
        The image.
    hot_pages : int
        Pages whose copy the DRAM holds.
    bad_pages : tuple of int
        Physical pages that cannot be read.

    Returns
    -------
    GraphStorage
        The contents.
    """
    begin, degree = _rows(image)
    hot = hottest_pages(image, hot_pages)
    copies = _copies_base(image.edges.nodes, image.pages) + np.arange(len(hot)) * (image.page_bytes // BEAT_BYTES)
    return GraphStorage(
        edges=image.edges,
        page_map=PageMap(page=hot, place=copies.astype(np.int64), hot=np.ones(len(hot), np.bool_)),
        bad_pages=np.array(sorted(bad_pages), np.int64),
        data=image.data,
        begin=begin,
        degree=degree,
    )


def _copies_base(nodes: int, pages: int) -> int:
    return nodes + -(-pages // 2)


def dram_image(image: FlashImage, storage: Storage) -> DramImage:
    """Fill the SSD's DRAM.

    Parameters
    ----------
    image : FlashImage
        The SSD's contents.
    storage : Storage
        Page map.

    Returns
    -------
    DramImage
        Records from beat 0, map behind them, copies of hot pages behind that.
    """
    size = image.edges.nodes * NODE_RECORD.bytes
    records = image.data[image.records_address : image.records_address + size].reshape(-1, BEAT_BYTES)
    page = np.arange(image.pages + image.pages % 2)
    place, hot = storage.page_map.look_up(page)
    entries = PAGE_ENTRY.encode(len(page), {"place": place, "hot": hot}).reshape(-1, BEAT_BYTES)
    copies = [
        image.data[at * image.page_bytes : (at + 1) * image.page_bytes].reshape(-1, BEAT_BYTES)
        for at in storage.page_map.page[storage.page_map.hot]
    ]
    return DramImage(beats=np.concatenate([records, entries, *copies]), records_base=0, map_base=image.edges.nodes)


def physical_place(page: NDArray[np.int64], flash: FlashConfig) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return channel and die of physical pages.

    Parameters
    ----------
    page : ndarray of int64
        Physical pages.
    flash : FlashConfig
        The flash.

    Returns
    -------
    channel, unit : ndarray of int64
        Pages go round-robin over the channels, then over the dies of each.
    """
    return page % flash.channels, page // flash.channels % flash.units

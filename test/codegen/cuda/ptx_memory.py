# ===- ptx_memory.py - Who has touched which bytes --------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Memory of a grid as the interpreter (ptx.py) judges it: which threads have met, who wrote and who read each cell, and which
copies are under way. An access is refused unless the thread has met, since, all who it must not race with.

Time is a count of meetings. A thread knows what threads of its block did before they met all at a barrier, lanes of its warp
before a meeting that named both, and nothing of another block while a launch lasts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from ptx_code import Instruction, check

# Who touched a cell, as one number: lanes of a warp, the warp, whether its lanes did it together (ldmatrix) or several warps
# did, and when. 0 is nobody; the bits of a copy that nobody has waited for are those of its thread, negative.
LANE_BITS, WARP_AT, TOGETHER, SEVERAL, TIME_AT = 0xFFFFFFFF, 32, 1 << 37, 1 << 38, 39
WARP_BITS = 31 << WARP_AT
WHO = SEVERAL | WARP_BITS | LANE_BITS
NO_BLOCK, ANY_BLOCK = 0, -1
MEMBER = 24  # an address in shared memory of a cluster: rank of the block, and one more, above


def in_runs(memory: np.ndarray, count: int) -> np.ndarray:
    """Bytes, or cells, as runs of so many, without the last if they are fewer."""
    whole = memory.size // count * count
    return memory[:whole].reshape(-1, count)


@dataclass
class Threads:
    """Those of a warp, in blocks of a grid, that execute an instruction: one row each."""

    warp: int
    blocks: np.ndarray
    lanes: np.ndarray
    who: np.ndarray

    def __getitem__(self, chosen: np.ndarray) -> "Threads":
        return Threads(self.warp, self.blocks[chosen], self.lanes[chosen], self.who[chosen])


def threads_of(warp: int, blocks: int) -> Threads:
    """All of a warp, block after block."""
    lanes = np.tile(np.arange(32), blocks)[:, None]
    return Threads(warp, np.repeat(np.arange(blocks), 32)[:, None], lanes, np.int64(1) << lanes | warp << WARP_AT)


class Meetings:
    """When threads of a block have met last: all of its cluster, all of them, those of a warp, lanes of a warp."""

    def __init__(self, blocks: int, warps: int):
        self.now = 1
        self.block = np.zeros(blocks, np.int64)
        self.cluster = np.zeros(blocks, np.int64)
        self.oldest = 0  # of these
        self.warps = np.zeros((warps, blocks), np.int64)
        self.lanes: dict[int, np.ndarray] = {}  # of a warp whose lanes met in part: block, lane that knows, lane that is known

    def meet_block(self, blocks: np.ndarray) -> None:
        """All threads of these blocks."""
        self.block[blocks] = self.now
        self.oldest = int(self.block.min())
        self.now += 1

    def meet_cluster(self, blocks: np.ndarray) -> None:
        """All threads of these blocks, which are whole clusters."""
        self.cluster[blocks] = self.now
        self.meet_block(blocks)

    def meet_warp(self, warp: int, blocks: np.ndarray) -> None:
        """All lanes of a warp in these blocks."""
        self.warps[warp][blocks] = self.now
        self.now += 1

    def meet_lanes(self, warp: int, block: int, lanes: np.ndarray) -> None:
        """Some lanes of a warp of one block: each knows what one of them knew."""
        known = self.lanes.setdefault(warp, np.zeros((self.block.size, 32, 32), np.int64))[block]
        known[lanes] = known[lanes].max(axis=0)
        known[np.ix_(lanes, lanes)] = self.now
        self.now += 1

    def known(self, old: np.ndarray, threads: Threads) -> np.ndarray | None:
        """Where each thread knows what `old`, the accesses to cells of its row, did; nobody's are known. None: everywhere."""
        if int(old.max()) >> TIME_AT <= self.oldest:
            return None
        time = old >> TIME_AT
        known = time <= self.block[threads.blocks]
        known |= old & WHO == threads.who
        if known.all():
            return None
        same_warp = (old ^ threads.who) & (WARP_BITS | SEVERAL) == 0
        known |= same_warp & ((old & TOGETHER != 0) | (time <= self.warps[threads.warp][threads.blocks]))
        if threads.warp in self.lanes and not known.all():
            times = self.lanes[threads.warp][threads.blocks, threads.lanes]  # row, 1, lane
            lanes = old[..., None] >> np.arange(32) & 1
            known |= same_warp & ((lanes == 0) | (times >= time[..., None])).all(axis=-1)
        return None if known.all() else known


class Marks:
    """Of each cell of a memory who wrote it last, and all who have read it since."""

    def __init__(self, cells: int, meetings: Meetings, has_blocks: bool):
        self.meetings = meetings
        self.writer, self.reader = (np.zeros(cells, np.int64) for _ in range(2))
        self.lanes = np.empty(cells, np.int64)  # that read a run, while these are collected
        self.remote = np.zeros(cells, np.int64)  # when another block of the cluster has read it last
        # Of memory that products read: how many under way do, who fenced the last write, and until when each warp fenced what it knew.
        self.reading = np.zeros(cells, np.int32)
        self.fenced = np.zeros(cells, np.int64)
        self.fences: dict[int, np.ndarray] = {}
        # Memory that blocks share: number of the block + 1.
        self.blocks = [np.zeros(cells, np.int32) for _ in range(2)] if has_blocks else None

    def write(self, s: Instruction, rows: np.ndarray, cells: int, threads: Threads, is_copy: bool = False) -> None:
        """Threads write a run of cells each, of shared memory perhaps by a copy."""
        writer = in_runs(self.writer, cells)
        self.check_blocks(s, rows, cells, threads, writes=True)
        old = writer[rows]
        check((old >= 0).all(), f"{s.place}: {s.op} of bytes that a copy is on its way to, which its thread has not waited for")
        check((in_runs(self.reading, cells)[rows] == 0).all(), f"{s.place}: {s.op} of bytes that products under way read")
        in_runs(self.fenced, cells)[rows] = 0
        self.check_known(s, old, threads, "wrote")
        self.check_known(s, in_runs(self.reader, cells)[rows], threads, "read")
        met = self.meetings.cluster[threads.blocks]
        check((in_runs(self.remote, cells)[rows] <= met).all(), f"{s.place}: {s.op} of bytes that another block read, whose cluster has not met since")
        self.put(writer, rows, threads, -1 if is_copy else 1)
        new = writer[rows] & WHO if not is_copy else -writer[rows] & WHO
        check((new == threads.who).all(), f"{s.place}: {s.op} of the same bytes by several threads at once")

    def land(self, rows: np.ndarray, cells: int, threads: Threads) -> None:
        """A copy has been waited for, by its thread."""
        self.put(in_runs(self.writer, cells), rows, threads, 1)

    def put(self, writer: np.ndarray, rows: np.ndarray, threads: Threads, sign: int) -> None:
        writer[rows] = sign * (threads.who | self.meetings.now << TIME_AT)

    def read(self, s: Instruction, rows: np.ndarray, cells: int, threads: Threads, needs_value: bool, together: bool = False) -> None:
        """Threads read a run of cells each, which somebody must have written if a value is needed; or all lanes of a warp read
        what some of them have the addresses of."""
        self.check_blocks(s, rows, cells, threads, writes=False)
        old = in_runs(self.writer, cells)[rows]
        if needs_value and not (old > 0).all():
            check((old >= 0).all(), f"{s.place}: {s.op} of bytes that nobody has written yet: a copy is on its way there, which its thread has not waited for")
            check(False, f"{s.place}: {s.op} of bytes that nobody has written")
        self.check_known(s, old, threads, "wrote")
        self.note_readers(in_runs(self.reader, cells), rows, threads, together)

    def read_remote(self, s: Instruction, rows: np.ndarray, cells: int, threads: Threads) -> None:
        """Threads read a run of cells each of blocks of their cluster."""
        old = in_runs(self.writer, cells)[rows]
        check((old > 0).all(), f"{s.place}: {s.op} of bytes that nobody has written, or that a copy is on its way to")
        check((old >> TIME_AT <= self.meetings.cluster[threads.blocks]).all(), f"{s.place}: {s.op} of bytes of a block that its cluster has not met since it wrote them")
        in_runs(self.remote, cells)[rows] = self.meetings.now

    def check_remote(self) -> None:
        """No block ends while another one reads its memory."""
        last = self.remote.reshape(self.meetings.cluster.size, -1).max(axis=1, initial=0)
        check((last <= self.meetings.cluster).all(), "a block may end while another one of its cluster reads its shared memory")

    def note_readers(self, reader: np.ndarray, rows: np.ndarray, threads: Threads, together: bool) -> None:
        """A reader takes the place of those that it knows of, since who knows it knows them, and is added to others."""
        now = self.meetings.now << TIME_AT
        if together:
            new = threads.who | LANE_BITS | TOGETHER | now
        else:  # several threads may read the same
            self.lanes[rows] = now
            np.bitwise_or.at(self.lanes, rows, threads.who[:, 0])
            new = self.lanes[rows][:, None]
        old = reader[rows]
        known = self.meetings.known(old, threads)
        if known is not None:
            same_warp = (old ^ new) & (WARP_BITS | SEVERAL) == 0
            new = np.where(known, new, np.where(same_warp, old & WHO | new & ~TOGETHER, SEVERAL | now))
        reader[rows] = new

    def fence(self, warp: int) -> None:
        """All lanes of a warp fence what they wrote, and what they knew when all threads of the block met last."""
        self.fences[warp] = self.meetings.block.copy()
        written = (self.writer > 0) & (self.fenced == 0) & (self.writer & (WARP_BITS | SEVERAL) == warp << WARP_AT)
        self.fenced[written] = self.writer[written] & WHO | self.meetings.now << TIME_AT

    def begin_reading(self, s: Instruction, rows: np.ndarray, cells: int, threads: Threads) -> None:
        """A product reads a run of cells of each row, by a proxy of its own, until it ends."""
        self.read(s, rows, cells, threads, needs_value=True, together=True)
        fenced = in_runs(self.fenced, cells)[rows]
        known = self.meetings.known(fenced, threads)
        met = self.fences.get(threads.warp)
        by_others = (fenced > 0) if known is None else (fenced > 0) & known
        by_itself = False if met is None else in_runs(self.writer, cells)[rows] >> TIME_AT <= met[threads.blocks]
        check((by_others | by_itself).all(), f"{s.place}: {s.op} of bytes that no fence of proxies stands behind")
        np.add.at(in_runs(self.reading, cells), rows, 1)

    def end_reading(self, s: Instruction, rows: np.ndarray, cells: int, threads: Threads) -> None:
        """The warp has waited for the product."""
        self.read(s, rows, cells, threads, needs_value=True, together=True)
        np.subtract.at(in_runs(self.reading, cells), rows, 1)

    def check_known(self, s: Instruction, old: np.ndarray, threads: Threads, what: str) -> None:
        check(self.meetings.known(old, threads) is None, f"{s.place}: {s.op} of bytes of a thread that was not met since, which {what} them")

    def check_blocks(self, s: Instruction, rows: np.ndarray, cells: int, threads: Threads, writes: bool) -> None:
        """Of blocks none touches what another one writes."""
        if self.blocks is None:
            return
        writer, reader = (in_runs(blocks, cells) for blocks in self.blocks)
        block = threads.blocks + 1
        for blocks, what in ((writer, "writes"), (reader, "reads")) if writes else ((writer, "writes"),):
            old = blocks[rows]
            check(((old == NO_BLOCK) | (old == block)).all(), f"{s.place}: {s.op} of bytes that another block {what} in the same launch")
        if writes:
            writer[rows] = block
            check((writer[rows] == block).all(), f"{s.place}: {s.op} of bytes that another block writes in the same launch")
            return
        old = reader[rows]
        reader[rows] = np.where((old == NO_BLOCK) | (old == block), block, ANY_BLOCK)
        others = reader[rows] != block
        if others.any():
            reader[np.broadcast_to(rows[:, None], others.shape)[others], np.nonzero(others)[1]] = ANY_BLOCK


@dataclass
class LaunchOrder:
    """What a launch may touch that begins while those before it still run: of each buffer, which bytes are theirs, to write or to
    read; and which it writes itself, for the launches behind it. `strict` if the launch may begin so: until a thread has waited,
    it reads none of their bytes, and writes nothing."""

    theirs: list[np.ndarray]
    written: list[np.ndarray]
    strict: bool = True

    def touch(self, s: Instruction, number: int, places: np.ndarray, counts: np.ndarray, waited: np.ndarray) -> None:
        """Threads touch so many bytes from places of a buffer on; `waited` says which of them have waited."""
        writes = s.parts[0] == "st"
        early = np.zeros_like(waited) if not self.strict else ~waited
        check(not (writes and early.any()), f"{s.place}: {s.op} by a thread that has not waited for the launches before")
        if not (writes or early.any()):
            return
        chosen = places[early] if not writes else places
        span = np.arange(int(counts.max(initial=0)))
        cells, held = chosen[:, None] + span, span < (counts[early] if not writes else counts)[:, None]
        if writes:
            self.written[number][cells[held]] = True
            return
        check(not self.theirs[number][cells[held]].any(), f"{s.place}: {s.op} of bytes of launches before, by a thread that has not waited for them")


def behind(buffers: list[np.ndarray], settled: set[int]) -> LaunchOrder:
    """The order of a launch before which others may write all of its buffers but these."""
    return LaunchOrder([np.full(buffer.nbytes, i not in settled) for i, buffer in enumerate(buffers)], [np.zeros(buffer.nbytes, bool) for buffer in buffers])


@dataclass
class Copy:
    """What one cp.async of a warp brings to shared memory: data of the threads that have not waited for it yet."""

    rows: np.ndarray
    data: np.ndarray
    threads: Threads
    groups: np.ndarray
    is_there: bool  # since it was issued

    def split(self, chosen: np.ndarray) -> tuple["Copy", "Copy"]:
        """The part of the chosen threads, and the rest."""
        first, rest = (Copy(self.rows[part], self.data[part], self.threads[part], self.groups[part], self.is_there) for part in (chosen, ~chosen))
        return first, rest


class Copies:
    """Of a warp, those under way. Groups are of a thread: each commits its own copies, and waits for its own groups."""

    def __init__(self, blocks: int, land: Callable[[Copy], None]):
        self.land = land
        self.committed = np.zeros((blocks, 32), np.int64)  # groups
        self.under_way: list[Copy] = []

    def issue(self, rows: np.ndarray, data: np.ndarray, threads: Threads, is_there: bool) -> None:
        self.under_way.append(Copy(rows, data, threads, self.committed[threads.blocks, threads.lanes][:, 0], is_there))

    def commit(self, mask: np.ndarray) -> None:
        self.committed[mask] += 1

    def wait(self, mask: np.ndarray, groups: int) -> None:
        """Threads of mask wait for all groups but their last ones."""
        ended = np.where(mask, self.committed - groups, 0)
        most, remaining = ended.max(), []
        for copy in self.under_way:
            if copy.groups.min() >= most:
                remaining.append(copy)
                continue
            ends = copy.groups < ended[copy.threads.blocks, copy.threads.lanes][:, 0]
            if not ends.all():
                copy, rest = copy.split(ends)
                remaining.append(rest)
            if ends.any():
                self.land(copy)
        self.under_way = remaining

    def all_committed(self) -> bool:
        return all((copy.groups < self.committed[copy.threads.blocks, copy.threads.lanes][:, 0]).all() for copy in self.under_way)


class WarpClusters:
    """The part of a warp that meets its cluster and reads its memory (mixed into ptx.Warp)."""

    arrived: bool

    def do_barrier(self, s: Instruction, mask: np.ndarray) -> None:
        """Where clusters meet, threads arrive: what they did before is known to all who have waited."""
        check(s.op == "barrier.cluster.arrive.aligned", f"{s.op} is not known")
        check(mask.all() and not self.arrived, f"{s.place}: {s.op} of some blocks alone, or again")
        self.arrived = True

    def do_mapa(self, s: Instruction, mask: np.ndarray) -> None:
        """The address of a place of shared memory in a block of the cluster."""
        check(s.op == "mapa.shared::cluster.u32", f"{s.op} is not known")
        rank = np.broadcast_to(self.get(s.operands[2], np.uint32), mask.shape)
        check((rank[mask] < self.grid.cluster).all(), f"{s.place}: {s.op} of a block that the cluster does not have")
        self.set(s.operands[0], self.get(s.operands[1], np.uint32) | rank + np.uint32(1) << np.uint32(MEMBER), mask)

    def read_cluster(self, s: Instruction, text: str, count: int, mask: np.ndarray) -> np.ndarray:
        """Bytes of shared memory of a block of the cluster, the same for all threads of a block."""
        check(not self.arrived, f"{s.place}: {s.op} between arriving where clusters meet and waiting")
        grid, address = self.grid, self.address(text)
        rank, place = (address >> MEMBER) - 1, address & (2**MEMBER - 1)
        check(((rank >= 0) & (place % count == 0) & (place + count <= grid.shared_bytes))[mask].all(), f"{s.place}: {s.op} misaligned or out of bounds")
        if grid.is_counted:
            self.count_wavefronts(s, place, count, mask, "shared")
        blocks = grid.block + (rank - grid.ids[2] % grid.cluster) * grid.sizes[0] * grid.sizes[1]
        rows = np.where(mask, (blocks * grid.held + place) // count, 0)
        grid.marks.read_remote(s, rows[mask], count // grid.cell, self.those(mask))
        return in_runs(grid.shared, count)[rows]

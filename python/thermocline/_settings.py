"""Settings of runs and comparisons, for completion and type checkers. Written by python/settings.py from crates/spec."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, SupportsIndex, TypedDict, Union

if TYPE_CHECKING:
    from .policy import PolicyLike

Number = Union[str, float, SupportsIndex, None]
"""A number, or a text with a unit: ``"7%"``, ``"64MiB"``, ``"10ms"``."""


class CommonSettings(TypedDict, total=False):
    """Settings of runs and of comparisons."""

    bytes: Number
    """Bytes that a workload writes [default: 4 times the filled data; phases: their sum]"""

    request: Number
    """Bytes of each request [default: a page]"""

    interarrival: Number
    """Mean time between requests (a Poisson process), such as 24.61s [default: a request starts when the previous one
    has ended]"""

    reads: Number
    """Share of read requests, below 100% [default: 0%]"""

    loop: Number
    """Number of times to replay the trace [default: 1]"""

    settle: Number
    """Repeat the input until write amplification has settled, at most N times; the statistics are those of the last
    time [default N: 20]"""

    absolute: Union[bool, None]
    """Keep the trace's addresses [default: number the touched pages densely]"""

    wrap: Union[bool, None]
    """Wrap addresses beyond the device's end (modulo its size)"""

    footprint: Union[str, None]
    """Pages that count for the device's size: all that are read or written, or only those written [default: accessed]"""

    sample: Union[str, None]
    """Simulate a sample: one of N pages, chosen by a hash of their number and seed=, on a device whose blocks have an
    N-th of their pages. Costs an N-th in time and memory; write amplification is an estimate with an interval"""

    partial_pages: Union[str, None]
    """Pages written in part: read, modify and write them, or only write them [default: rmw]"""

    device: Union[str, os.PathLike[str], None]
    """Built-in profile (`thermocline devices` lists them), or a TOML file [default: slc-generic; for traces of phones
    a phone's flash]"""

    capacity: Number
    """Bytes of the whole chip [default: the profile's; in simulations of a trace, enough for its footprint]"""

    block_size: Number
    """Bytes of an erase block [default: the profile's]"""

    page_size: Number
    """Bytes of a page [default: the profile's]"""

    header_pages: Number
    """Pages of a block that hold its header and no data. Small pages of a NOR chip need more of them, as `format` says
    [default: the profile's]"""

    banks: Number
    """Number of banks; they share the blocks [default: the profile's]"""

    channels: Number
    """Number of channels, which the banks share: operations of banks overlap, transfers on a channel do not [default:
    the profile's]"""

    fill: Number
    """Share of the chip to write in sequence before the statistics begin (the papers' utilization), or `none` for a
    device fresh from the factory [default: all logical pages]"""

    preconditioned: Union[str, None]
    """How the device was written before the statistics begin: not at all, each page once in order, or each once in
    random order [default: sequential]"""

    used: Number
    """Use only the first part of the capacity; the rest is trimmed before the statistics begin [default: all of it]"""

    scale: Union[str, None]
    """Simulate a smaller device of as many blocks with an N-th of the pages in each: an N-th of the time and memory.
    Sizes are given and printed as of the whole device. For workloads; a trace takes sample="""

    over_provisioning: Number
    """Over-provisioning: physical / logical pages - 1 [default: a drive's own; 15% for others]"""

    warm_up: Number
    """Bytes that the host writes before the statistics begin, beside the fill: to see a device once it has settled, or
    one stretch of a run [default: none]"""

    logical_pages: Number
    """Number of logical pages, as on a chip that is formatted already [default: from over_provisioning=, fill= or the
    trace's footprint]"""

    read_only: Number
    """Filled pages that are read-only: a share of them, which workloads never write, or `unwritten`, those that the
    trace never writes [default: none]"""

    write_buffer: Number
    """Buffer pages that the host writes in RAM of this size, such as 64MiB: writes of a page that it holds coalesce.
    The page written longest ago leaves it first (lru:64MiB), or the page that came first (fifo:64MiB); a flush
    empties it [default: the device's own, or none]"""

    slc_cache: Number
    """Blocks that take the host's pages first, one bit a cell, and are folded into the log when they are full or in
    idle time: of their own (fixed:5%), or as many free ones as can be borrowed (dynamic, dynamic:20%). Cells
    hold 3 bits otherwise, unless said (fixed:5%/4) [default: the device's own, or none]"""

    superblocks: Union[Literal["plain", "parity"], None]
    """Make superblocks of the blocks at one position in all banks, which then work together: plain, or with a page of
    parity in each stripe [default: banks work by themselves]"""

    overhead: Number
    """Bytes that the drive programs for metadata beside each byte of a page, for `drive_write_amplification` [default:
    a drive's own; none for others]"""

    queue_depth: Number
    """Requests the device works on at once [default: with clock='device' one, otherwise all that have arrived]"""

    reads_first: Number
    """Serve reads first: a read passes the programs, copies and erases that wait for its bank, and at most N reads
    pass each of these [default: operations in order of arrival]"""

    suspend: Number
    """Time to suspend a running program or erase for a read, with reads_first= [default: the profile's; without one
    nothing is suspended]"""

    map_cache: Number
    """Keep the map on the chip, as a device with little RAM does, and this much RAM for changes of it: 16KiB. For
    policies without memory per page; of dftl it is the table of map entries [default: the map in RAM]"""

    wear_out: Union[bool, None]
    """Retire blocks at their rated endurance (P/E cycles)"""

    daily_writes: Number
    """Host writes a day for lifetimes in years: 50GB, 20GiB [default: the rate of the trace's arrivals]"""

    clock: Union[str, None]
    """When a request starts: when the previous one has ended (device), or at its arrival time (arrivals) [default:
    arrivals if the input has any]"""

    load: Number
    """Arrivals of a Poisson process at this share of the rate that the device sustains, in place of the input's: 70%.
    The rate is measured first, with greedy garbage collection [default: the input's arrivals]"""

    time_scale: Number
    """Unit of the ages that policies transform [default: 1700 times the mean gap between page writes; 363 erase times
    without arrivals]"""

    reserve: Number
    """Free blocks of each bank kept for garbage collection [default: 2]"""

    low: Number
    """Garbage collection starts below this number of free blocks [default: reserve + 1]"""

    high: Number
    """Garbage collection stops at this number of free blocks; with the falling trigger it starts there [default: low;
    falling: an eighth of the blocks, at most low + 64]"""

    trigger: Union[Literal["lazy", "eager", "falling"], None]
    """When garbage collection starts: when a write needs a block (lazy), when a write left only the reserve (eager),
    or early, with a threshold of garbage that falls with the free blocks (falling) [default: the policy's]"""

    pacing: Number
    """Garbage collection in steps: a write waits for a bounded number of copies and no whole block (paced), or for at
    most this many copies a page; placements that sort survivors collect whole blocks all the same [default:
    off]"""

    batch: Number
    """Blocks collected at once by placements that sort survivors [default: the policy's]"""

    bank_assignment: Union[Literal["static", "dynamic"], None]
    """Assignment of pages to banks: by page number (static), or to idle banks by wear and free space (dynamic)
    [default: the policy's]"""

    idle: Union[Literal["none", "timer", "slac"], Sequence[str], str, None]
    """Garbage collection between requests: none; after a time without requests, as in 'timer(after=20ms)'; or in
    predicted slack, as in 'slac(preempt=yes)'. `compare` takes several, separated by commas [default: the
    policy's]"""

    dead_data: Union[Literal["none", "trim", "fsaf"], Sequence[str], str, None]
    """Sources of dead data: none; TRIM (trim); or TRIM and deletions inferred from writes to the tables of a FAT,
    exFAT, ext or NTFS file system (fsaf). `compare` takes several, separated by commas [default: the policy's]"""

    trace_format: Union[str, None]
    """Format of the trace [default: guessed; `thermocline trace formats` lists them]"""

    columns: Union[str, None]
    """Columns of a trace in an unknown format, by number or by the names of its header, such as
    `time=1:us,op=2:W/R,offset=3:sectors,size=4` or `time=when,op=rw,offset=addr:hex,size=len`; dates need no
    unit [default: guessed from a header]"""

    action: Union[str, None]
    """Event that represents a blkparse, blktrace or ftrace request: Q (queued), D (issued) or C (completed) [default:
    D if there are any, otherwise Q]"""

    invert_ops: Union[bool, None]
    """Swap reads and writes"""

    time_unit: Union[str, None]
    """Unit of the time column: ps, ns, 100ns, us, ms or s [default: the format's]"""

    sector_size: Number
    """Bytes of a sector [default: the format's]"""

    skip_bad_lines: Union[bool, None]
    """Skip malformed lines, and report how many there were"""

    volume: Union[str, Sequence[str], None]
    """Keep only this volume, by name or index. Repeat for several"""

    ops: Union[str, None]
    """Keep only these operations: read, write, trim, flush, separated by commas; -trim keeps all but trims"""

    sort_window: Number
    """Sort by time within a window of requests (64) or of time (20ms)"""

    dedup_window: Number
    """Drop repetitions of a request within this time, because some recorders log it several times"""

    shift: Union[str, None]
    """Shift addresses by this, such as -63s (sectors of 512 bytes) or +4KiB"""

    hint: Union[str, Sequence[str], None]
    """Placement hints of the writes: `volume` gives each volume its own, and 0..1GiB=3 those that begin at these
    addresses. Repeat for several ranges; the last one that fits counts"""

    limit: Number
    """Keep only the first N requests"""

    seed: Number
    """Seed of all random choices; one seed gives one result"""

    threads: Number
    """Number of threads; 0 is one per core. Results do not depend on it"""

    check: Union[bool, None]
    """Recount all tables at the end, and fail if any count differs"""


class RunSettings(CommonSettings, total=False):
    """Settings of ``thermocline.run``."""

    workload: Union[str, None]
    """Workload to generate, such as hot-cold:90/10 (`thermocline workloads` lists them)"""

    victim: Union[PolicyLike, None]
    """Victim policy, in place of the policy's own"""

    placement: Union[PolicyLike, None]
    """Placement, in place of the policy's own"""

    oracle: Union[bool, None]
    """Run the oracle too, which knows the future, and say how much more the policy writes"""


class CompareSettings(CommonSettings, total=False):
    """Settings of ``thermocline.compare``."""

    workload: Union[str, Sequence[str], None]
    """Workload to generate, such as hot-cold:90/10 (`thermocline workloads` lists them). Repeat for several; they run
    after the traces"""

    victim: Union[PolicyLike, None]
    """Victim policies with commas between: every one with every placement, in place of the policies' own, or on a
    plain log where no policies are named; `all` is every one"""

    placement: Union[PolicyLike, None]
    """Placements with commas between: every one with every victim policy; `all` is every one"""

    per_volume: Union[bool, None]
    """Each volume of a trace is a device of its own: a table of the volumes, and percentiles over all"""

    min_volume: Number
    """Leave out volumes with a smaller footprint [default: those too small for the over-provisioning, whose devices
    would have to be larger; 0 takes them all]"""

    min_written: Number
    """Leave out volumes to which less is written"""

    max_written: Number
    """Leave out volumes to which more is written"""

    min_reads: Number
    """Leave out volumes with a smaller share of reads among their reads and writes"""

    max_reads: Number
    """Leave out volumes with a larger share of reads"""

    shard: Union[str, None]
    """Only this part of the volumes, about equal in requests, as in 3/16; the rows of the parts one behind another are
    the whole"""

    store: Union[str, None]
    """Folder that keeps the results of each volume: what is in it is not computed again"""

    no_oracle: Union[bool, None]
    """Do not measure the policies against the oracle, which knows the future: saves its run"""

    aim: Union[str, None]
    """What the policy is chosen for: the longest life of the flash, the shortest write responses (99th percentile),
    the least RAM, or the three together"""

    buildable: Union[str, None]
    """Who builds the policy that is chosen: a controller alone, a host that places its own data (multi-stream), or any"""

    fdp: Number
    """Ask what this many placement handles of NVMe FDP would bring: places by the trace's hints, beside what a drive
    infers by itself, and answers in a sentence"""

    seeds: Number
    """Run everything with this many seeds, from seed= on: figures are means with 95 % intervals"""

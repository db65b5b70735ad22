"""Policies with their parameters, for completion and type checkers. Written by python/settings.py."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _native
from ._spec import Number, Spec, Whole

if TYPE_CHECKING:
    from typing_extensions import Self


class Victims:
    """Victim policies, with their parameters."""

    class Greedy(Spec):
        """Least valid pages; the best there is under uniform traffic, poor under locality. Source: CAT paper §3.1;
        Wu and Zwaenepoel 1994."""

        _name = "greedy"

    class CostBenefit(Spec):
        """Greatest age·(1−u)/2u; lets young blocks gather garbage, for traffic with locality. Source: Kawaguchi,
        Nishioka, Motoda 1995; CAT paper §3.1.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed) [default:
        created].

        ``transform``: The shape of the age transformation (identity | log | stair | power) [default: log].

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms) [default: auto].

        ``exponent``: Exponent of transform=power (a number of at least 0) [default: 0.35].
        """

        _name = "cost-benefit"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None) -> Self:
            return cls._made(age=age, transform=transform, tau=tau, exponent=exponent)

    class CostBenefitSqrt(Spec):
        """Greatest (1−u)/u·√age; the cost-benefit of the recent stream schemes. Source: SepBIT (FAST 2022); MiDAS
        (FAST 2024); DOGI (FAST 2026).

        ``age``: What a block's age counts from: closed as SepBIT and MiDAS have it, last-invalidation as Kawaguchi
        et al.; youngest comes nearest to SimpleSSD's last access (created | last-invalidation | youngest | closed)
        [default: closed].

        ``exponent``: Exponent of the age: 0.5 as SepBIT, MiDAS and DOGI have it, 1 as Kawaguchi et al., FEMU and
        SimpleSSD (a number of at least 0) [default: 0.5].
        """

        _name = "cost-benefit-sqrt"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, exponent: Number = None) -> Self:
            return cls._made(age=age, exponent=exponent)

    class Lfs(Spec):
        """Greatest age·(1−u)/(1+u), age of the youngest data; the disk's cost-benefit. Source: Rosenblum and
        Ousterhout 1992; CAT paper §3.1.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed) [default:
        youngest].

        ``transform``: The shape of the age transformation (identity | log | stair | power) [default: identity].

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms) [default: auto].

        ``exponent``: Exponent of transform=power (a number of at least 0) [default: 0.5].
        """

        _name = "lfs"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None) -> Self:
            return cls._made(age=age, transform=transform, tau=tau, exponent=exponent)

    class Cat(Spec):
        """Least u/(1−u)·erases/T(age); cost-benefit that also wears the chip evenly. Source: CAT paper §3.2.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed) [default:
        created].

        ``transform``: The shape of the age transformation (identity | log | stair | power) [default: log].

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms) [default: auto].

        ``exponent``: Exponent of transform=power (a number of at least 0) [default: 0.35].

        ``offset``: Added to the erase count; the paper's text says 0, 1 avoids products of 0 (a whole number)
        [default: 1].
        """

        _name = "cat"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None, offset: Whole = None) -> Self:
            return cls._made(age=age, transform=transform, tau=tau, exponent=exponent, offset=offset)

    class Adaptive(Spec):
        """Greedy while recent writes look uniform, else CAT; for traffic that changes. Source: DAC paper, Adaptive
        cleaning policy.

        ``window``: Least writes of counted pages before a verdict, by reset=verdict; of a sample, twice the square
        root of its pages if that is more (a whole number) [default: 200].

        ``z``: Standard deviations of the writes' variance beyond which they are not uniform (a number) [default:
        3].

        ``reset``: When the reference counts are reset (verdict | cleaning) [default: verdict].

        ``entries``: Most pages whose writes are counted, at least 64; devices of more are sampled (a whole number)
        [default: 32768].

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed) [default:
        created].

        ``transform``: The shape of the age transformation (identity | log | stair | power) [default: log].

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms) [default: auto].

        ``exponent``: Exponent of transform=power (a number of at least 0) [default: 0.35].

        ``offset``: Added to the erase count; the paper's text says 0, 1 avoids products of 0 (a whole number)
        [default: 1].
        """

        _name = "adaptive"

        def __new__(cls, *, window: Whole = None, z: Number = None, reset: Union[Literal["verdict", "cleaning"], None] = None, entries: Whole = None, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None, offset: Whole = None) -> Self:
            return cls._made(window=window, z=z, reset=reset, entries=entries, age=age, transform=transform, tau=tau, exponent=exponent, offset=offset)

    class Fifo(Spec):
        """The block opened longest ago; perfectly even wear, a yardstick. Source: Desnoyers 2012; Wu and
        Zwaenepoel 1994."""

        _name = "fifo"

    class Random(Spec):
        """Any block with garbage; write amplification 1/(1−u), a yardstick. Source: Van Houdt 2013."""

        _name = "random"

    class DChoices(Spec):
        """Least valid pages of d random blocks; nearly greedy without any index. Source: Van Houdt 2013.

        ``d``: Number of random blocks to choose from, at least 1 (a whole number) [default: 10].
        """

        _name = "d-choices"

        def __new__(cls, *, d: Whole = None) -> Self:
            return cls._made(d=d)

    class Weight(Spec):
        """Dead pages count for a block, hot ones double against it; integers only; greedy where the placement
        knows no hot pages. Source: striping paper §5.2."""

        _name = "weight"

    class LinuxFtl(Spec):
        """Greedy, every 50th time the block erased least; even wear by rule of thumb. Source: CAT paper §7; Hinds,
        Linux PCMCIA package, ftl.c.

        ``every``: Each cleaning of this number takes the block erased least, at least 1 (a whole number) [default:
        50].
        """

        _name = "linux-ftl"

        def __new__(cls, *, every: Whole = None) -> Self:
            return cls._made(every=every)

    class WindowedGreedy(Spec):
        """Least valid pages of the oldest blocks; greedy that never forgets a block. Source: Hu, Eleftheriou,
        Haas, Iliadis, Pletka, SYSTOR 2009.

        ``window``: Number of closed blocks to choose from, at least 1; auto: a fifth of a bank's blocks (a whole
        number) [default: auto].
        """

        _name = "windowed-greedy"

        def __new__(cls, *, window: Whole = None) -> Self:
            return cls._made(window=window)

    class CostHotness(Spec):
        """Greatest (1−u)/(u·hotness); for the placement sfs, which knows how hot blocks are. Source: SFS, FAST
        2012.

        ``age``: What a block's age counts from (youngest | created) [default: youngest].
        """

        _name = "cost-hotness"

        def __new__(cls, *, age: Union[Literal["youngest", "created"], None] = None) -> Self:
            return cls._made(age=age)

    class Survival(Spec):
        """Greatest (1−u)/(u·weight); for the placement survival, which knows what waiting is worth. Source:
        docs/thermocline-policy.md."""

        _name = "survival"

    class Score(Spec):
        """The lowest score, which you write: score(valid / (invalid * age)). Source: docs/policies.md.

        ``of``: The expression; `of=` may be left out (an expression) [default: valid].

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed) [default:
        created].
        """

        _name = "score"

        def __new__(cls, *, of: Union[str, None] = None, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None) -> Self:
            return cls._made(of=of, age=age)


class Placements:
    """Placements, with their parameters."""

    class OneStream(Spec):
        """Host writes and survivors share one open block; no memory, no separation. Source: CAT paper §6.1.1, M1."""

        _name = "one-stream"

    class AgeSort(Spec):
        """Survivors sorted by age into one stream; what LFS does, of no effect on counts when one block is cleaned
        at a time. Source: CAT paper §6.1.1, M2; Rosenblum and Ousterhout 1992."""

        _name = "age-sort"

    class TimesSort(Spec):
        """Survivors sorted by hot degree into one stream; of no effect on counts when one block is cleaned at a
        time. Source: CAT paper §6.1.1, M3.

        ``tau``: Time scale on which a page's update count fades; auto: 1700 mean gaps between page writes, or the
        device's (a time such as 84min, 250s, 20ms) [default: auto].
        """

        _name = "times-sort"

        def __new__(cls, *, tau: Number = None) -> Self:
            return cls._made(tau=tau)

    class SegmentSplit(Spec):
        """Survivors of cold blocks to a stream of their own; separation without memory. Source: CAT paper §6.1.1,
        M4; Kawaguchi, Nishioka, Motoda 1995."""

        _name = "segment-split"

    class BlockSplit(Spec):
        """Pages updated more often than the average stay hot; slow to notice a change. Source: CAT paper §6.1.1,
        M5."""

        _name = "block-split"

    class FineGrained(Spec):
        """Pages of more than average hot degree stay hot; the CAT paper's best placement. Source: CAT paper §3.2
        and §6.1.1, M6.

        ``tau``: Time scale on which a page's update count fades; auto: 1700 mean gaps between page writes, or the
        device's (a time such as 84min, 250s, 20ms) [default: auto].

        ``exact``: Up to this number of logical pages the mean hot degree is recomputed page by page; beyond, by
        epochs of the last write, within 0.5 % (a whole number) [default: 8192].

        ``mean``: Whether pages that were never updated count in the mean (all | updated) [default: all].
        """

        _name = "fine-grained"

        def __new__(cls, *, tau: Number = None, exact: Whole = None, mean: Union[Literal["all", "updated"], None] = None) -> Self:
            return cls._made(tau=tau, exact=exact, mean=mean)

    class TwoLevelLru(Spec):
        """Hot is what was written again while still remembered; small lists, one step a write. Source: striping
        paper §3.3, §5.1.

        ``hot``: Length of the hot list, in pages; at least 1, at most 65536 (a whole number) [default: 512].

        ``candidates``: Length of the candidate list, in pages; at least 1, at most 65536 (a whole number) [default:
        1024].
        """

        _name = "two-level-lru"

        def __new__(cls, *, hot: Whole = None, candidates: Whole = None) -> Self:
            return cls._made(hot=hot, candidates=candidates)

    class Dac(Spec):
        """Pages rise a region when updated and sink one when cleaned; follows a change at once. Source: DAC paper,
        Figures 1 and 2.

        ``regions``: Regions, from 1 (no clustering) to 16; each has an open block of its own (a whole number)
        [default: 4].

        ``threshold``: Time in its region up to which an updated page rises, and after which a cleaned one sinks;
        none: always (a time such as 84min, 250s, 20ms) [default: auto].

        ``holds``: What the threshold holds back: rising and sinking, or sinking alone (both | sinking) [default:
        both].
        """

        _name = "dac"

        def __new__(cls, *, regions: Whole = None, threshold: Number = None, holds: Union[Literal["both", "sinking"], None] = None) -> Self:
            return cls._made(regions=regions, threshold=threshold, holds=holds)

    class DoubleHotCold(Spec):
        """First writes join the survivors; better than hot-cold where new data are seldom updated. Source: Jung et
        al. 2014, as in update-interval paper §2."""

        _name = "double-hot-cold"

    class UpdateInterval(Spec):
        """Hot, warm, cold by the pages written since; no memory, for desktop traffic. Source: update-interval
        paper §3: Kim and Shin 2015.

        ``threshold``: Interval below which an update is hot, in percent of a block's pages; at most 100, because
        only the newest two blocks of a stream are remembered (a whole number) [default: 100].
        """

        _name = "update-interval"

        def __new__(cls, *, threshold: Whole = None) -> Self:
            return cls._made(threshold=threshold)

    class UpdateIntervalExact(Spec):
        """Hot, warm, cold by the pages that the host wrote since; four bytes a page. Source: update-interval paper
        §3: Kim and Shin 2015, the interval before the approximation.

        ``threshold``: Interval below which an update is hot, in percent of a block's pages in each bank (a whole
        number) [default: 100].
        """

        _name = "update-interval-exact"

        def __new__(cls, *, threshold: Whole = None) -> Self:
            return cls._made(threshold=threshold)

    class SepGc(Spec):
        """Host writes and survivors apart; most of what separation gains, without memory. Source: Shin 2011, as in
        update-interval paper §2; Van Houdt 2014; SepBIT (FAST 2022) §4.1."""

        _name = "sep-gc"

    class SepBit(Spec):
        """Pages by when they will probably be overwritten, estimated from when they were last. Source: Wang, Li,
        Lee, Ouyang, Shi, Huang, FAST 2022, Algorithm 1.

        ``classes``: Number of classes, a stream each, 4 to 32; the paper has 6 (a whole number) [default: 6].
        """

        _name = "sep-bit"

        def __new__(cls, *, classes: Whole = None) -> Self:
            return cls._made(classes=classes)

    class DacSimple(Spec):
        """A level up at each overwrite, down at each copy; a byte a page and no clock. Source: SepBIT paper (FAST
        2022) §4.1; after Chiang, Lee, Chang 1999.

        ``levels``: Number of levels, a stream each, 2 to 32 (a whole number) [default: 6].
        """

        _name = "dac-simple"

        def __new__(cls, *, levels: Whole = None) -> Self:
            return cls._made(levels=levels)

    class Fadac(Spec):
        """Pages by powers of ten of their write counts over a fading average. Source: Kremer and Brinkmann, SYSTOR
        2019; SepBIT paper (FAST 2022) §4.1.

        ``levels``: Number of levels, a stream each, 2 to 32 (a whole number) [default: 6].
        """

        _name = "fadac"

        def __new__(cls, *, levels: Whole = None) -> Self:
            return cls._made(levels=levels)

    class Eti(Spec):
        """Hot and cold address ranges apart, survivors too; a few kilobytes for any device. Source: Shafaei,
        Desnoyers, Fitzpatrick, HotStorage 2016; SepBIT paper (FAST 2022) §4.1.

        ``extents``: The most extents, 1 to 65536 (a whole number) [default: 1024].

        ``period``: Requests after which counts are halved and extents merged, at least 1 (a whole number) [default:
        4096].

        ``hot``: The count from which an extent is hot, 1 to 15 (a whole number) [default: 4].
        """

        _name = "eti"

        def __new__(cls, *, extents: Whole = None, period: Whole = None, hot: Whole = None) -> Self:
            return cls._made(extents=extents, period=period, hot=hot)

    class Warcip(Spec):
        """Host writes in clusters of like rewrite intervals, copies apart. Source: Yang, Pei, Yang, SYSTOR 2019;
        SepBIT paper (FAST 2022) §4.1.

        ``streams``: Number of streams, 2 to 32: one for copies, the others for clusters (a whole number) [default:
        6].
        """

        _name = "warcip"

        def __new__(cls, *, streams: Whole = None) -> Self:
            return cls._made(streams=streams)

    class AutoStreamMq(Spec):
        """Chunks of 1 MiB in queues by the logarithm of their writes, copies apart. Source: Yang, Pandurangan,
        Choi, Balakrishnan, SYSTOR 2017; SepBIT paper (FAST 2022) §4.1.

        ``streams``: Number of streams, 2 to 32: one for copies, the others for the queues (a whole number)
        [default: 6].

        ``chunk``: Pages of a chunk, at least 1; 1 MiB of 4 KiB pages (a whole number) [default: 256].
        """

        _name = "auto-stream-mq"

        def __new__(cls, *, streams: Whole = None, chunk: Whole = None) -> Self:
            return cls._made(streams=streams, chunk=chunk)

    class AutoStreamSfr(Spec):
        """Sequential writes together, others by how often and lately their 2 MiB were written. Source: Yang,
        Pandurangan, Choi, Balakrishnan, SYSTOR 2017; SepBIT paper (FAST 2022) §4.1.

        ``streams``: Number of streams, 2 to 32: one for copies, the others for host writes (a whole number)
        [default: 6].

        ``chunk``: Pages of a chunk, at least 1; 2 MiB of 4 KiB pages (a whole number) [default: 512].

        ``half_life``: Pages written by the host in which a chunk's count is halved, at least 1 (a whole number)
        [default: 16384].
        """

        _name = "auto-stream-sfr"

        def __new__(cls, *, streams: Whole = None, chunk: Whole = None, half_life: Whole = None) -> Self:
            return cls._made(streams=streams, chunk=chunk, half_life=half_life)

    class MultiStream(Spec):
        """Pages by the binary logarithm of their fading update counts. Source: after Kang, Hyun, Maeng, Cho,
        HotStorage 2014.

        ``streams``: Number of streams, 1 to 32; disks offer 4 to 16 (a whole number) [default: 6].

        ``half_life``: Pages written by the host in which counts are halved, at least 1; auto: as many as there are
        logical pages (a whole number) [default: auto].
        """

        _name = "multi-stream"

        def __new__(cls, *, streams: Whole = None, half_life: Whole = None) -> Self:
            return cls._made(streams=streams, half_life=half_life)

    class Hints(Spec):
        """A stream for each placement hint of the host, one for all survivors. Source: NVMe TP4146 (Flexible Data
        Placement, 2022), initially isolated handles.

        ``handles``: Handles that the drive has; hints beyond them share handles, so 9 of 8 is 1 again (a whole
        number) [default: 8].
        """

        _name = "hints"

        def __new__(cls, *, handles: Whole = None) -> Self:
            return cls._made(handles=handles)

    class HintsIsolated(Spec):
        """A stream for each placement hint of the host, and another for its survivors. Source: NVMe TP4146
        (Flexible Data Placement, 2022), persistently isolated handles.

        ``handles``: Handles that the drive has; hints beyond them share handles, so 9 of 8 is 1 again (a whole
        number) [default: 8].
        """

        _name = "hints-isolated"

        def __new__(cls, *, handles: Whole = None) -> Self:
            return cls._made(handles=handles)

    class HintsAdaptive(Spec):
        """A stream for each placement hint of the host where that copies less, as ghosts show. Source:
        docs/fdp.md.

        ``handles``: Handles that the drive has; hints beyond them share handles, so 9 of 8 is 1 again (a whole
        number) [default: 8].
        """

        _name = "hints-adaptive"

        def __new__(cls, *, handles: Whole = None) -> Self:
            return cls._made(handles=handles)

    class Oracle(Spec):
        """Knows when each page will be overwritten or trimmed: the bound that separation is measured against;
        cannot be built. Source: after FK of SepBIT (Wang et al., FAST 2022), with classes of growing width.

        ``classes``: Classes of pages by the page writes they have left to live; each has an open block (a whole
        number from 2 to 64) [default: 16].

        ``spacing``: How the classes divide that time (geometric | linear) [default: geometric].

        ``horizon``: Where the last class begins with spacing=geometric, in times all pages are written (a number
        above 0) [default: 4].
        """

        _name = "oracle"

        def __new__(cls, *, classes: Whole = None, spacing: Union[Literal["geometric", "linear"], None] = None, horizon: Number = None) -> Self:
            return cls._made(classes=classes, spacing=spacing, horizon=horizon)

    class Calendar(Spec):
        """Knows when each page will be overwritten or trimmed; pages that die in the same window of time share
        blocks; cannot be built. Source: docs/oracle.md.

        ``streams``: The most open blocks of each bank; auto: three of four spare blocks (a whole number from 2 to
        250, or auto) [default: auto].
        """

        _name = "calendar"

        def __new__(cls, *, streams: Whole = None) -> Self:
            return cls._made(streams=streams)

    class Midas(Spec):
        """A chain of groups by age, their sizes from a model of the traffic; adapts by itself. Source: MiDAS, FAST
        2024.

        ``groups``: Groups at most, the hot one among them: 3 to 10; auto: one for 48 blocks of a bank, 3 to 8 (a
        whole number) [default: auto].

        ``sample``: One page in this number has its update intervals counted; the paper's is 100 (a whole number)
        [default: 1].

        ``epoch``: Page writes of an epoch, in sizes of the device (a number) [default: 4].
        """

        _name = "midas"

        def __new__(cls, *, groups: Whole = None, sample: Whole = None, epoch: Number = None) -> Self:
            return cls._made(groups=groups, sample=sample, epoch=epoch)

    class Dogi(Spec):
        """Pages by lives that a network foretells, in groups from a model; trained as it runs. Source: DOGI, FAST
        2026.

        ``groups``: Groups, a stream each, the hot and the frozen one among them: 4 to 9; auto: one for 48 blocks of
        a bank (a whole number) [default: auto].

        ``warm_up``: Page writes before the first samples are taken, in sizes of the device; the fill counts as one
        more (a number) [default: 1].

        ``period``: Page writes until the ends of sampled data are no longer awaited, in sizes of the device;
        samples are taken during the first third (a number) [default: 0.5].

        ``utilization``: The part of the pages with data that the model of groups counts, which decides how many
        groups there are; the prototype's is 0.909 (a number) [default: 0.909].

        ``learn``: Whether a network is trained; without one all pages that are not hot are alike when written (yes
        or no) [default: yes].
        """

        _name = "dogi"

        def __new__(cls, *, groups: Whole = None, warm_up: Number = None, period: Number = None, utilization: Number = None, learn: Union[bool, None] = None) -> Self:
            return cls._made(groups=groups, warm_up=warm_up, period=period, utilization=utilization, learn=learn)

    class MultiLog(Spec):
        """A log for each update frequency, cleaned where space is worth least. Source: Stoica and Ailamaki, VLDB
        2013.

        ``levels``: Levels, 1 to 16, each with a log of its own; auto: one for 32 blocks of a bank, 2 to 6 (a whole
        number) [default: auto].
        """

        _name = "multi-log"

        def __new__(cls, *, levels: Whole = None) -> Self:
            return cls._made(levels=levels)

    class Sfs(Spec):
        """Pages of like hotness to the same blocks, grouped as the blocks' own hotness falls. Source: SFS, FAST
        2012.

        ``groups``: Groups of segments, 1 to 16; auto: one for 32 blocks of a bank, 2 to 4 (a whole number)
        [default: auto].

        ``scale``: How hotness is compared (log | linear) [default: log].
        """

        _name = "sfs"

        def __new__(cls, *, groups: Whole = None, scale: Union[Literal["log", "linear"], None] = None) -> Self:
            return cls._made(groups=groups, scale=scale)

    class Envy(Spec):
        """Partitions cleaned in turn, hot data gathered at the bottom and cold at the top. Source: Wu and
        Zwaenepoel 1994, eNVy; CAT paper Table 7.

        ``partitions``: Partitions, 1 to 32; auto: one for 16 blocks of a bank, 1 to 8 (a whole number) [default:
        auto].

        ``pull``: Whether a partition below the average pulls data from a neighbour (yes or no) [default: no].

        ``ranges``: Whether shares are those of ranges of adjacent blocks, and not all equal (yes or no) [default:
        no].
        """

        _name = "envy"

        def __new__(cls, *, partitions: Whole = None, pull: Union[bool, None] = None, ranges: Union[bool, None] = None) -> Self:
            return cls._made(partitions=partitions, pull=pull, ranges=ranges)

    class Survival(Spec):
        """Pages by the fading mean of their update intervals, survivors by age; learns how streams survive.
        Source: docs/thermocline-policy.md.

        ``streams``: Streams, 2 to 16, half of them for survivors; auto: the root of two thirds of a bank's spare
        blocks, 4 to 16 (a whole number) [default: auto].

        ``history``: Whether a byte a page keeps a fading mean of its update intervals; otherwise the last one
        counts (yes or no) [default: yes].

        ``hazard``: Exponent of the rate at which waiting pays, in a block's cost (a number) [default: 0.4].

        ``age``: Exponent of a block's age, in the same (a number) [default: 0.2].

        ``prior``: Blocks of evidence that a hazard like 1/age counts as (a number) [default: 16].

        ``gate``: The gain below which all data go to one stream, in nats a death; 0: never (a number) [default:
        0.04].

        ``wear``: Exponent of a block's erase count, in its cost: even wear at the price of copies; CAT has 1 (a
        number) [default: 0].

        ``duel``: Whether rival rules are tried on a sample of the pages, and the best one is followed (yes or no)
        [default: yes].

        ``hints``: Handles, 0 to 14, whose separation is tried in the same way; 0: placement hints are not read (a
        whole number) [default: 0].
        """

        _name = "survival"

        def __new__(cls, *, streams: Whole = None, history: Union[bool, None] = None, hazard: Number = None, age: Number = None, prior: Number = None, gate: Number = None, wear: Number = None, duel: Union[bool, None] = None, hints: Whole = None) -> Self:
            return cls._made(streams=streams, history=history, hazard=hazard, age=age, prior=prior, gate=gate, wear=wear, duel=duel, hints=hints)

    class Stream(Spec):
        """The stream that you write: stream(min(3, log2(1 + interval / tau))). Source: docs/policies.md.

        ``of``: The expression; `of=` may be left out (an expression) [default: if(survivor, 0, writes > 0)].

        ``streams``: Number of streams, 1 to 32 (a whole number) [default: 4].
        """

        _name = "stream"

        def __new__(cls, *, of: Union[str, None] = None, streams: Whole = None) -> Self:
            return cls._made(of=of, streams=streams)


class Idle:
    """Garbage collection in idle time, with their parameters."""

    class Timer(Spec):
        """Cleans block after block once the device was idle for a while, until a request comes. Source: Golding et
        al. 1995, Idleness is not sloth; the preemptible form of SLAC.

        ``after``: Silence after which cleaning begins (a time such as 84min, 250s, 20ms) [default: 20ms].

        ``free``: Page-mapped: free blocks in each bank that are enough; auto: one more than the high watermark, and
        a sixteenth of the spare space (a whole number) [default: auto].

        ``dead``: NFTL: dead pages that make a pair of blocks worth folding; auto: the pages of a block (a whole
        number) [default: auto].

        ``short``: NFTL: percentage of free blocks below which any pair is folded, those with most dead pages first:
        a collection is near that would fold them anyway; 0: never (a whole number) [default: 0].
        """

        _name = "timer"

        def __new__(cls, *, after: Number = None, free: Whole = None, dead: Whole = None, short: Whole = None) -> Self:
            return cls._made(after=after, free=free, dead=dead, short=short)

    class Slac(Spec):
        """Predicts the time to the next request and cleans as much as fits into it; a burst after a lone gap waits
        for all of it, unless preempt=yes. Source: Mylavarapu 2008, §4.1: application slack time aware garbage
        collection.

        ``samples``: Gaps between requests that are remembered (the thesis' n) (a whole number) [default: 4].

        ``epsilon``: Mean deviation of the gaps below which they are alike (ε) (a time such as 84min, 250s, 20ms)
        [default: 5ms].

        ``mean``: Which mean of them: all alike, or recent ones more (running | weighted) [default: running].

        ``preempt``: Whether a request that waits ends it. The thesis does not look (yes or no) [default: no].

        ``free``: Page-mapped: free blocks in each bank that are enough; auto: one more than the high watermark, and
        a sixteenth of the spare space (a whole number) [default: auto].

        ``dead``: NFTL: dead pages that make a pair of blocks worth folding (d_Th); auto: the pages of a block (a
        whole number) [default: auto].

        ``short``: NFTL: percentage of free blocks below which any pair is folded, those with most dead pages first;
        0, as in the thesis: never (a whole number) [default: 0].
        """

        _name = "slac"

        def __new__(cls, *, samples: Whole = None, epsilon: Number = None, mean: Union[Literal["running", "weighted"], None] = None, preempt: Union[bool, None] = None, free: Whole = None, dead: Whole = None, short: Whole = None) -> Self:
            return cls._made(samples=samples, epsilon=epsilon, mean=mean, preempt=preempt, free=free, dead=dead, short=short)


class DeadData:
    """Sources of dead data, with their parameters."""

    class None_(Spec):
        """Ignores trims; to see what they are worth. Source: for comparison."""

        _name = "none"

    class Trim(Spec):
        """Believes the host's trims and nothing else; the default. Source: SCSI UNMAP, ATA TRIM, NVMe deallocate,
        eMMC discard."""

        _name = "trim"

    class Fsaf(Spec):
        """Trims, and what the writes of a FAT, exFAT, ext or NTFS file system's tables tell; needs a trace with
        contents, and is off unless asked for, for it must guess. Source: Mylavarapu 2008, §4.2: file system
        aware FTL.

        ``delta``: NFTL: share of the pages that must be dead before blocks of nothing but dead data are erased
        ahead (the thesis' δ) (a number) [default: 0.2].

        ``mu``: NFTL: share of the blocks that must be in use for that (μ) (a number) [default: 0.85].

        ``target``: NFTL: share of dead pages at which it ends (Δ) (a number) [default: 0.18].

        ``cap``: NFTL: no more than delta - target of the blocks at a time, so that no request waits for all of them
        (yes or no) [default: yes].

        ``collect``: NFTL: whether a collection erases blocks of nothing but dead data before it folds; the thesis
        says that of reclamation ahead only (yes or no) [default: yes].

        ``guards``: What must be seen before a sector is called dead: the full rule, or the thesis' own, which loses
        live data (full | thesis) [default: full].
        """

        _name = "fsaf"

        def __new__(cls, *, delta: Number = None, mu: Number = None, target: Number = None, cap: Union[bool, None] = None, collect: Union[bool, None] = None, guards: Union[Literal["full", "thesis"], None] = None) -> Self:
            return cls._made(delta=delta, mu=mu, target=target, cap=cap, collect=collect, guards=guards)


class Policies:
    """The policies there are. :data:`thermocline.policies` is the one object of this class: called, it lists them; its
    attributes make presets with parameters, and those of ``victim``, ``placement``, ``idle`` and ``dead_data`` make these."""

    victim = Victims
    placement = Placements
    idle = Idle
    dead_data = DeadData

    class InPlace(Spec):
        """Updates in place: read the block, erase it, write it back; why flash needs the rest. Source: CAT paper
        Figure 1."""

        _name = "in-place"

    class Nftl(Spec):
        """Primary and replacement blocks, folded; what cards and sticks with little memory do. Source: Ban 1995,
        as in SLAC and FSAF thesis, chapters 1 and 5.

        ``start``: Percentage of free blocks below which a collection starts (a whole number).

        ``stop``: Percentage of free blocks at which it stops (a whole number).

        ``gap``: Difference of erase counts beyond which a block is moved for the sake of even wear; 0: never (a
        whole number).

        ``free``: Which erased block is taken next: the one that waited longest, the one erased last, or the lowest
        number. The thesis does not say (fifo | lifo | lowest).

        ``victim``: In place of its own (a victim policy).
        """

        _name = "nftl"

        def __new__(cls, *, start: Whole = None, stop: Whole = None, gap: Whole = None, free: Union[Literal["fifo", "lifo", "lowest"], None] = None, victim: Union[str, None] = None) -> Self:
            return cls._made(start=start, stop=stop, gap=gap, free=free, victim=victim)

    class Slac(Spec):
        """NFTL that folds full pairs in idle time, one by one until a request comes. Source: SLAC and FSAF thesis,
        §4.1, in its preemptible form.

        ``after``: Silence after which cleaning begins (a time such as 84min, 250s, 20ms).

        ``free``: Page-mapped: free blocks in each bank that are enough; auto: one more than the high watermark, and
        a sixteenth of the spare space (a whole number).

        ``dead``: NFTL: dead pages that make a pair of blocks worth folding (d_Th); auto: the pages of a block (a
        whole number).

        ``short``: NFTL: percentage of free blocks below which any pair is folded, those with most dead pages first;
        0, as in the thesis: never (a whole number).

        ``start``: Percentage of free blocks below which a collection starts (a whole number).

        ``stop``: Percentage of free blocks at which it stops (a whole number).

        ``gap``: Difference of erase counts beyond which a block is moved for the sake of even wear; 0: never (a
        whole number).

        ``victim``: In place of its own (a victim policy).
        """

        _name = "slac"

        def __new__(cls, *, after: Number = None, free: Whole = None, dead: Whole = None, short: Whole = None, start: Whole = None, stop: Whole = None, gap: Whole = None, victim: Union[str, None] = None) -> Self:
            return cls._made(after=after, free=free, dead=dead, short=short, start=start, stop=stop, gap=gap, victim=victim)

    class SlacThesis(Spec):
        """NFTL that folds in predicted slack, as printed; a burst after a lone gap waits long. Source: SLAC and
        FSAF thesis, §4.1.

        ``samples``: Gaps between requests that are remembered (the thesis' n) (a whole number).

        ``epsilon``: Mean deviation of the gaps below which they are alike (ε) (a time such as 84min, 250s, 20ms).

        ``mean``: Whether pages that were never updated count in the mean (all | updated).

        ``preempt``: Whether a request that waits ends it. The thesis does not look (yes or no).

        ``free``: Page-mapped: free blocks in each bank that are enough; auto: one more than the high watermark, and
        a sixteenth of the spare space (a whole number).

        ``dead``: NFTL: dead pages that make a pair of blocks worth folding; auto: the pages of a block (a whole
        number).

        ``short``: NFTL: percentage of free blocks below which any pair is folded, those with most dead pages first:
        a collection is near that would fold them anyway; 0: never (a whole number).

        ``start``: Percentage of free blocks below which a collection starts (a whole number).

        ``stop``: Percentage of free blocks at which it stops (a whole number).

        ``gap``: Difference of erase counts beyond which a block is moved for the sake of even wear; 0: never (a
        whole number).

        ``victim``: In place of its own (a victim policy).
        """

        _name = "slac-thesis"

        def __new__(cls, *, samples: Whole = None, epsilon: Number = None, mean: Union[Literal["all", "updated"], None] = None, preempt: Union[bool, None] = None, free: Whole = None, dead: Whole = None, short: Whole = None, start: Whole = None, stop: Whole = None, gap: Whole = None, victim: Union[str, None] = None) -> Self:
            return cls._made(samples=samples, epsilon=epsilon, mean=mean, preempt=preempt, free=free, dead=dead, short=short, start=start, stop=stop, gap=gap, victim=victim)

    class Fsaf(Spec):
        """NFTL that reads from the FAT which data are dead, and leaves them behind. Source: SLAC and FSAF thesis,
        §4.2.

        ``delta``: NFTL: share of the pages that must be dead before blocks of nothing but dead data are erased
        ahead (the thesis' δ) (a number).

        ``mu``: NFTL: share of the blocks that must be in use for that (μ) (a number).

        ``target``: NFTL: share of dead pages at which it ends (Δ) (a number).

        ``cap``: NFTL: no more than delta - target of the blocks at a time, so that no request waits for all of them
        (yes or no).

        ``collect``: NFTL: whether a collection erases blocks of nothing but dead data before it folds; the thesis
        says that of reclamation ahead only (yes or no).

        ``guards``: What must be seen before a sector is called dead: the full rule, or the thesis' own, which loses
        live data (full | thesis).

        ``start``: Percentage of free blocks below which a collection starts (a whole number).

        ``stop``: Percentage of free blocks at which it stops (a whole number).

        ``gap``: Difference of erase counts beyond which a block is moved for the sake of even wear; 0: never (a
        whole number).

        ``free``: Page-mapped: free blocks in each bank that are enough; auto: one more than the high watermark, and
        a sixteenth of the spare space (a whole number).

        ``victim``: In place of its own (a victim policy).
        """

        _name = "fsaf"

        def __new__(cls, *, delta: Number = None, mu: Number = None, target: Number = None, cap: Union[bool, None] = None, collect: Union[bool, None] = None, guards: Union[Literal["full", "thesis"], None] = None, start: Whole = None, stop: Whole = None, gap: Whole = None, free: Whole = None, victim: Union[str, None] = None) -> Self:
            return cls._made(delta=delta, mu=mu, target=target, cap=cap, collect=collect, guards=guards, start=start, stop=stop, gap=gap, free=free, victim=victim)

    class Combo(Spec):
        """Slac and fsaf together. Source: SLAC and FSAF thesis, chapter 6.

        ``after``: Silence after which cleaning begins (a time such as 84min, 250s, 20ms).

        ``free``: Page-mapped: free blocks in each bank that are enough; auto: one more than the high watermark, and
        a sixteenth of the spare space (a whole number).

        ``dead``: NFTL: dead pages that make a pair of blocks worth folding; auto: the pages of a block (a whole
        number).

        ``short``: NFTL: percentage of free blocks below which any pair is folded, those with most dead pages first:
        a collection is near that would fold them anyway; 0: never (a whole number).

        ``delta``: NFTL: share of the pages that must be dead before blocks of nothing but dead data are erased
        ahead (the thesis' δ) (a number).

        ``mu``: NFTL: share of the blocks that must be in use for that (μ) (a number).

        ``target``: NFTL: share of dead pages at which it ends (Δ) (a number).

        ``cap``: NFTL: no more than delta - target of the blocks at a time, so that no request waits for all of them
        (yes or no).

        ``collect``: NFTL: whether a collection erases blocks of nothing but dead data before it folds; the thesis
        says that of reclamation ahead only (yes or no).

        ``guards``: What must be seen before a sector is called dead: the full rule, or the thesis' own, which loses
        live data (full | thesis).

        ``start``: Percentage of free blocks below which a collection starts (a whole number).

        ``stop``: Percentage of free blocks at which it stops (a whole number).

        ``gap``: Difference of erase counts beyond which a block is moved for the sake of even wear; 0: never (a
        whole number).

        ``victim``: In place of its own (a victim policy).
        """

        _name = "combo"

        def __new__(cls, *, after: Number = None, free: Whole = None, dead: Whole = None, short: Whole = None, delta: Number = None, mu: Number = None, target: Number = None, cap: Union[bool, None] = None, collect: Union[bool, None] = None, guards: Union[Literal["full", "thesis"], None] = None, start: Whole = None, stop: Whole = None, gap: Whole = None, victim: Union[str, None] = None) -> Self:
            return cls._made(after=after, free=free, dead=dead, short=short, delta=delta, mu=mu, target=target, cap=cap, collect=collect, guards=guards, start=start, stop=stop, gap=gap, victim=victim)

    class Dftl(Spec):
        """Greedy victims; the map lies on the chip, and RAM caches entries of it. Source: Gupta, Kim, Urgaonkar,
        ASPLOS 2009.

        ``protected``: Largest share of the cached mapping table that is protected, in percent. The paper does not
        say; its simulator has 80 (a whole number).

        ``writes``: Which changed entries are written back together: the one that leaves the table, or all of its
        translation page (entry | page).
        """

        _name = "dftl"

        def __new__(cls, *, protected: Whole = None, writes: Union[Literal["entry", "page"], None] = None) -> Self:
            return cls._made(protected=protected, writes=writes)

    class Greedy(Spec):
        """Greedy victims, one stream; the best there is under uniform traffic. Source: CAT paper §5; Wu and
        Zwaenepoel 1994; update-interval paper §4.

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "greedy"

        def __new__(cls, *, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(victim=victim, placement=placement)

    class CostBenefit(Spec):
        """Cost-benefit victims, cold blocks' survivors apart; locality without memory per page. Source: CAT paper
        §5; Kawaguchi, Nishioka, Motoda 1995.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``transform``: The shape of the age transformation (identity | log | stair | power).

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "cost-benefit"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, transform=transform, tau=tau, exponent=exponent, victim=victim, placement=placement)

    class Lfs(Spec):
        """The log-structured file system's cleaner, one block at a time. Source: Rosenblum and Ousterhout 1992.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``transform``: The shape of the age transformation (identity | log | stair | power).

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "lfs"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, transform=transform, tau=tau, exponent=exponent, victim=victim, placement=placement)

    class LfsBatch(Spec):
        """The same with the survivors of eight blocks sorted together, as LFS does. Source: Rosenblum and
        Ousterhout 1992; CAT paper §7.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``transform``: The shape of the age transformation (identity | log | stair | power).

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "lfs-batch"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, transform=transform, tau=tau, exponent=exponent, victim=victim, placement=placement)

    class Kawaguchi(Spec):
        """Cost-benefit that begins early with blocks full of garbage; the fewer blocks are free, the less garbage
        it asks for. Source: Kawaguchi, Nishioka, Motoda 1995; CAT paper Table 7.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``transform``: The shape of the age transformation (identity | log | stair | power).

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "kawaguchi"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, transform=transform, tau=tau, exponent=exponent, victim=victim, placement=placement)

    class Envy(Spec):
        """ENVy's hybrid of FIFO and locality gathering; a yardstick. Source: Wu and Zwaenepoel 1994; CAT paper
        Table 7.

        ``partitions``: Partitions, 1 to 32; auto: one for 16 blocks of a bank, 1 to 8 (a whole number).

        ``pull``: Whether a partition below the average pulls data from a neighbour (yes or no).

        ``ranges``: Whether shares are those of ranges of adjacent blocks, and not all equal (yes or no).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "envy"

        def __new__(cls, *, partitions: Whole = None, pull: Union[bool, None] = None, ranges: Union[bool, None] = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(partitions=partitions, pull=pull, ranges=ranges, victim=victim, placement=placement)

    class LinuxFtl(Spec):
        """Greedy, every 50th time the block erased least; what Linux did for memory cards. Source: CAT paper §7;
        Hinds, Linux PCMCIA package.

        ``every``: Each cleaning of this number takes the block erased least, at least 1 (a whole number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "linux-ftl"

        def __new__(cls, *, every: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(every=every, victim=victim, placement=placement)

    class Mffs(Spec):
        """Greedy when no free space is left, one block at a time, written in sequence. Source: CAT paper §7 and
        Table 7; Torelli 1995, Microsoft Flash File System.

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "mffs"

        def __new__(cls, *, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(victim=victim, placement=placement)

    class Cat(Spec):
        """Cost, age, times: hot, cold and read-only pages apart, wear even. Source: CAT paper §3.2.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``transform``: The shape of the age transformation (identity | log | stair | power).

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``offset``: Added to the erase count; the paper's text says 0, 1 avoids products of 0 (a whole number).

        ``exact``: Up to this number of logical pages the mean hot degree is recomputed page by page; beyond, by
        epochs of the last write, within 0.5 % (a whole number).

        ``mean``: Whether pages that were never updated count in the mean (all | updated).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "cat"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None, offset: Whole = None, exact: Whole = None, mean: Union[Literal["all", "updated"], None] = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, transform=transform, tau=tau, exponent=exponent, offset=offset, exact=exact, mean=mean, victim=victim, placement=placement)

    class Dac(Spec):
        """Four regions by update frequency, greedy or CAT by the traffic; adapts to changes. Source: DAC paper.

        ``window``: Least writes of counted pages before a verdict, by reset=verdict; of a sample, twice the square
        root of its pages if that is more (a whole number).

        ``z``: Standard deviations of the writes' variance beyond which they are not uniform (a number).

        ``reset``: When the reference counts are reset (verdict | cleaning).

        ``entries``: Most pages whose writes are counted, at least 64; devices of more are sampled (a whole number).

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``transform``: The shape of the age transformation (identity | log | stair | power).

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``offset``: Added to the erase count; the paper's text says 0, 1 avoids products of 0 (a whole number).

        ``regions``: Regions, from 1 (no clustering) to 16; each has an open block of its own (a whole number).

        ``threshold``: Time in its region up to which an updated page rises, and after which a cleaned one sinks;
        none: always (a time such as 84min, 250s, 20ms).

        ``holds``: What the threshold holds back: rising and sinking, or sinking alone (both | sinking).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "dac"

        def __new__(cls, *, window: Whole = None, z: Number = None, reset: Union[Literal["verdict", "cleaning"], None] = None, entries: Whole = None, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None, offset: Whole = None, regions: Whole = None, threshold: Number = None, holds: Union[Literal["both", "sinking"], None] = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(window=window, z=z, reset=reset, entries=entries, age=age, transform=transform, tau=tau, exponent=exponent, offset=offset, regions=regions, threshold=threshold, holds=holds, victim=victim, placement=placement)

    class HotCold(Spec):
        """Greedy victims, host writes and survivors apart; hard to beat for so little. Source: Shin 2011, as in
        update-interval paper §2; two-region greedy of SSD-iq; Van Houdt 2014.

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "hot-cold"

        def __new__(cls, *, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(victim=victim, placement=placement)

    class DoubleHotCold(Spec):
        """Greedy victims, survivors and first writes apart. Source: Jung et al. 2014, as in update-interval paper
        §2.

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "double-hot-cold"

        def __new__(cls, *, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(victim=victim, placement=placement)

    class UpdateInterval(Spec):
        """Greedy victims, hot, warm, cold and new data apart, without memory per page. Source: update-interval
        paper §3: Kim and Shin 2015.

        ``threshold``: Interval below which an update is hot, in percent of a block's pages; at most 100, because
        only the newest two blocks of a stream are remembered (a whole number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "update-interval"

        def __new__(cls, *, threshold: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(threshold=threshold, victim=victim, placement=placement)

    class StripingStatic(Spec):
        """Pages striped over banks by number; two lists tell hot pages from cold. Source: striping paper §3.2 and
        §5.

        ``hot``: Length of the hot list, in pages; at least 1, at most 65536 (a whole number).

        ``candidates``: Length of the candidate list, in pages; at least 1, at most 65536 (a whole number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "striping-static"

        def __new__(cls, *, hot: Whole = None, candidates: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(hot=hot, candidates=candidates, victim=victim, placement=placement)

    class StripingDynamic(Spec):
        """The same with pages sent to idle banks, hot ones where wear is least, cold ones where room is most.
        Source: striping paper §3.2 to §5.

        ``hot``: Length of the hot list, in pages; at least 1, at most 65536 (a whole number).

        ``candidates``: Length of the candidate list, in pages; at least 1, at most 65536 (a whole number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "striping-dynamic"

        def __new__(cls, *, hot: Whole = None, candidates: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(hot=hot, candidates=candidates, victim=victim, placement=placement)

    class Fifo(Spec):
        """A circular log; perfectly even wear, a yardstick. Source: Desnoyers 2012.

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "fifo"

        def __new__(cls, *, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(victim=victim, placement=placement)

    class Random(Spec):
        """Random victims; the yardstick nobody should lose to. Source: Van Houdt 2013.

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "random"

        def __new__(cls, *, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(victim=victim, placement=placement)

    class DChoices(Spec):
        """The least valid of d random blocks; nearly greedy. Source: Van Houdt 2013.

        ``d``: Number of random blocks to choose from, at least 1 (a whole number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "d-choices"

        def __new__(cls, *, d: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(d=d, victim=victim, placement=placement)

    class WindowedGreedy(Spec):
        """The least valid of the oldest blocks; between FIFO and greedy. Source: Hu et al., SYSTOR 2009.

        ``window``: Number of closed blocks to choose from, at least 1; auto: a fifth of a bank's blocks (a whole
        number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "windowed-greedy"

        def __new__(cls, *, window: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(window=window, victim=victim, placement=placement)

    class SepGc(Spec):
        """Cost-benefit with √age, host writes and survivors apart; what schemes are measured by. Source: SepBIT
        paper (FAST 2022) §4.1.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "sep-gc"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, exponent: Number = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, exponent=exponent, victim=victim, placement=placement)

    class SepBit(Spec):
        """Cost-benefit with √age, pages by when they will probably be overwritten. Source: Wang et al., FAST 2022.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``classes``: Number of classes, a stream each, 4 to 32; the paper has 6 (a whole number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "sep-bit"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, exponent: Number = None, classes: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, exponent=exponent, classes=classes, victim=victim, placement=placement)

    class Midas(Spec):
        """A chain of groups sized by a model; the last cleaned by cost-benefit. Source: MiDAS, FAST 2024.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``transform``: The shape of the age transformation (identity | log | stair | power).

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``groups``: Groups at most, the hot one among them: 3 to 10; auto: one for 48 blocks of a bank, 3 to 8 (a
        whole number).

        ``sample``: One page in this number has its update intervals counted; the paper's is 100 (a whole number).

        ``epoch``: Page writes of an epoch, in sizes of the device (a number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "midas"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None, groups: Whole = None, sample: Whole = None, epoch: Number = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, transform=transform, tau=tau, exponent=exponent, groups=groups, sample=sample, epoch=epoch, victim=victim, placement=placement)

    class Dogi(Spec):
        """A network foretells when pages will be overwritten; groups of like lives. Source: Kim et al., FAST 2026.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``groups``: Groups, a stream each, the hot and the frozen one among them: 4 to 9; auto: one for 48 blocks of
        a bank (a whole number).

        ``warm_up``: Page writes before the first samples are taken, in sizes of the device; the fill counts as one
        more (a number).

        ``period``: Page writes until the ends of sampled data are no longer awaited, in sizes of the device;
        samples are taken during the first third (a number).

        ``utilization``: The part of the pages with data that the model of groups counts, which decides how many
        groups there are; the prototype's is 0.909 (a number).

        ``learn``: Whether a network is trained; without one all pages that are not hot are alike when written (yes
        or no).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "dogi"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, exponent: Number = None, groups: Whole = None, warm_up: Number = None, period: Number = None, utilization: Number = None, learn: Union[bool, None] = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, exponent=exponent, groups=groups, warm_up=warm_up, period=period, utilization=utilization, learn=learn, victim=victim, placement=placement)

    class MultiLog(Spec):
        """A log for each update frequency; greedy where no log has a block to give. Source: Stoica and Ailamaki,
        VLDB 2013.

        ``levels``: Levels, 1 to 16, each with a log of its own; auto: one for 32 blocks of a bank, 2 to 6 (a whole
        number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "multi-log"

        def __new__(cls, *, levels: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(levels=levels, victim=victim, placement=placement)

    class Sfs(Spec):
        """Blocks of like hotness, hot ones left to die; for skewed traffic. Source: SFS, FAST 2012.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``groups``: Groups of segments, 1 to 16; auto: one for 32 blocks of a bank, 2 to 4 (a whole number).

        ``scale``: How hotness is compared (log | linear).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "sfs"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, groups: Whole = None, scale: Union[Literal["log", "linear"], None] = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, groups=groups, scale=scale, victim=victim, placement=placement)

    class Warcip(Spec):
        """Greedy victims, host writes in clusters of like rewrite intervals. Source: Yang, Pei, Yang, SYSTOR 2019.

        ``streams``: Number of streams, 2 to 32: one for copies, the others for clusters (a whole number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "warcip"

        def __new__(cls, *, streams: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(streams=streams, victim=victim, placement=placement)

    class Fadac(Spec):
        """Greedy victims, pages by powers of ten of their write counts. Source: Kremer and Brinkmann, SYSTOR 2019.

        ``levels``: Number of levels, a stream each, 2 to 32 (a whole number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "fadac"

        def __new__(cls, *, levels: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(levels=levels, victim=victim, placement=placement)

    class Eti(Spec):
        """Greedy victims, hot and cold address ranges apart. Source: Shafaei, Desnoyers, Fitzpatrick, HotStorage
        2016.

        ``extents``: The most extents, 1 to 65536 (a whole number).

        ``period``: Requests after which counts are halved and extents merged, at least 1 (a whole number).

        ``hot``: The count from which an extent is hot, 1 to 15 (a whole number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "eti"

        def __new__(cls, *, extents: Whole = None, period: Whole = None, hot: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(extents=extents, period=period, hot=hot, victim=victim, placement=placement)

    class AutoStream(Spec):
        """Greedy victims, streams by sequentiality, frequency and recency of 2 MiB chunks. Source: Yang,
        Pandurangan, Choi, Balakrishnan, SYSTOR 2017.

        ``streams``: Number of streams, 2 to 32: one for copies, the others for clusters (a whole number).

        ``chunk``: Pages of a chunk, at least 1; 1 MiB of 4 KiB pages (a whole number).

        ``half_life``: Pages written by the host in which a chunk's count is halved, at least 1 (a whole number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "auto-stream"

        def __new__(cls, *, streams: Whole = None, chunk: Whole = None, half_life: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(streams=streams, chunk=chunk, half_life=half_life, victim=victim, placement=placement)

    class MultiStream(Spec):
        """Greedy victims, streams by the logarithm of fading update counts. Source: after Kang, Hyun, Maeng, Cho,
        HotStorage 2014.

        ``streams``: Number of streams, 1 to 32; disks offer 4 to 16 (a whole number).

        ``half_life``: Pages written by the host in which counts are halved, at least 1; auto: as many as there are
        logical pages (a whole number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "multi-stream"

        def __new__(cls, *, streams: Whole = None, half_life: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(streams=streams, half_life=half_life, victim=victim, placement=placement)

    class Thermocline(Spec):
        """Streams by learned survival, one byte a page; greedy where there is nothing to learn. Source:
        docs/thermocline-policy.md.

        ``streams``: Number of streams, 2 to 32: one for copies, the others for clusters (a whole number).

        ``history``: Whether a byte a page keeps a fading mean of its update intervals; otherwise the last one
        counts (yes or no).

        ``hazard``: Exponent of the rate at which waiting pays, in a block's cost (a number).

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``prior``: Blocks of evidence that a hazard like 1/age counts as (a number).

        ``gate``: The gain below which all data go to one stream, in nats a death; 0: never (a number).

        ``wear``: Exponent of a block's erase count, in its cost: even wear at the price of copies; CAT has 1 (a
        number).

        ``duel``: Whether rival rules are tried on a sample of the pages, and the best one is followed (yes or no).

        ``hints``: Handles, 0 to 14, whose separation is tried in the same way; 0: placement hints are not read (a
        whole number).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "thermocline"

        def __new__(cls, *, streams: Whole = None, history: Union[bool, None] = None, hazard: Number = None, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, prior: Number = None, gate: Number = None, wear: Number = None, duel: Union[bool, None] = None, hints: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(streams=streams, history=history, hazard=hazard, age=age, prior=prior, gate=gate, wear=wear, duel=duel, hints=hints, victim=victim, placement=placement)

    class Fk(Spec):
        """Knows the future, as SepBIT's authors did: six classes of a block's writes each. Source: Wang et al.
        2022 (SepBIT, FAST), the FK scheme.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``transform``: The shape of the age transformation (identity | log | stair | power).

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``classes``: Number of classes, a stream each, 4 to 32; the paper has 6 (a whole number).

        ``spacing``: How the classes divide that time (geometric | linear).

        ``horizon``: Where the last class begins with spacing=geometric, in times all pages are written (a number
        above 0).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "fk"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None, classes: Whole = None, spacing: Union[Literal["geometric", "linear"], None] = None, horizon: Number = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, transform=transform, tau=tau, exponent=exponent, classes=classes, spacing=spacing, horizon=horizon, victim=victim, placement=placement)

    class Oracle(Spec):
        """Knows the future; what the others are measured against and nobody can build. Source: after FK;
        docs/oracle.md says how it was chosen.

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``transform``: The shape of the age transformation (identity | log | stair | power).

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``classes``: Classes of pages by the page writes they have left to live; each has an open block (a whole
        number from 2 to 64).

        ``spacing``: How the classes divide that time (geometric | linear).

        ``horizon``: Where the last class begins with spacing=geometric, in times all pages are written (a number
        above 0).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "oracle"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None, classes: Whole = None, spacing: Union[Literal["geometric", "linear"], None] = None, horizon: Number = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, transform=transform, tau=tau, exponent=exponent, classes=classes, spacing=spacing, horizon=horizon, victim=victim, placement=placement)

    class Calendar(Spec):
        """Knows the future; copies almost nothing where the spare space allows that at all. Source:
        docs/oracle.md; the problem is that of Lange, Naor and Yadgar (SIGMETRICS 2022).

        ``age``: What a block's age counts from (created | last-invalidation | youngest | closed).

        ``transform``: The shape of the age transformation (identity | log | stair | power).

        ``tau``: Time scale of the transformation; auto: 1700 mean gaps between page writes, or the device's (a time
        such as 84min, 250s, 20ms).

        ``exponent``: Exponent of transform=power (a number of at least 0).

        ``streams``: The most open blocks of each bank; auto: three of four spare blocks (a whole number from 2 to
        250, or auto).

        ``victim``: In place of its own (a victim policy).

        ``placement``: In place of its own (a placement).
        """

        _name = "calendar"

        def __new__(cls, *, age: Union[Literal["created", "last-invalidation", "youngest", "closed"], None] = None, transform: Union[Literal["identity", "log", "stair", "power"], None] = None, tau: Number = None, exponent: Number = None, streams: Whole = None, victim: Union[str, None] = None, placement: Union[str, None] = None) -> Self:
            return cls._made(age=age, transform=transform, tau=tau, exponent=exponent, streams=streams, victim=victim, placement=placement)

    def __call__(self) -> list[dict[str, Any]]:
        """Presets, victim policies, placements and the rest, with parameters and sources."""
        return json.loads(_native.listed("policies"))


policies = Policies()

//! The device, and its content before the run.

use thermocline_flash::{SlcCache, WriteBuffer};
use thermocline_units::USUAL_OVER_PROVISIONING;

use crate::{
    choices, group,
    values::{
        COUNT, DAILY_WRITES, DEVICE, FILL, FillArg, ONE_OR_MORE, PAGE_SIZE, READ_ONLY, ReadOnlyArg,
        SAMPLE, SHARE, SIZE, SLC_CACHE, TIME, WRITE_BUFFER,
    },
};

group! {
    /// What a device is like.
    pub struct ShapeArgs, "Device" {
        /// Built-in profile (`thermocline devices` lists them), or a TOML file [default: slc-generic; for
        /// traces of phones a phone's flash].
        device: Option<String> = one("device", "NAME|FILE", DEVICE);
        /// Bytes of the whole chip [default: the profile's; in simulations of a trace, enough for its
        /// footprint].
        capacity: Option<u64> = one("capacity", "SIZE", SIZE);
        /// Bytes of an erase block [default: the profile's].
        block_size: Option<u64> = one("block-size", "SIZE", SIZE);
        /// Bytes of a page [default: the profile's].
        page_size: Option<u64> = one("page-size", "SIZE", PAGE_SIZE);
        /// Pages of a block that hold its header and no data. Small pages of a NOR chip need more of them, as
        /// `format` says [default: the profile's].
        header_pages: Option<u32> = one("header-pages", "N", COUNT);
        /// Number of banks; they share the blocks [default: the profile's].
        banks: Option<u32> = one("banks", "N", COUNT);
        /// Number of channels, which the banks share: operations of banks overlap, transfers on a channel
        /// do not [default: the profile's].
        channels: Option<u32> = one("channels", "N", COUNT);
    }
}

group! {
    /// The device of a simulation.
    pub struct DeviceArgs, "Device" {
        /// Its shape.
        shape: ShapeArgs = flat();
        /// Share of the chip to write in sequence before the statistics begin (the papers' utilization), or
        /// `none` for a device fresh from the factory [default: all logical pages].
        fill: Option<FillArg> = one("fill", "SHARE|none", FILL).without(&["over-provisioning"]);
        /// How the device was written before the statistics begin: not at all, each page once in order, or each
        /// once in random order [default: sequential].
        preconditioned: Option<PreconditionArg> = one("preconditioned", "HOW", PRECONDITION).without(&["fill"]);
        /// Use only the first part of the capacity; the rest is trimmed before the statistics begin [default: all
        /// of it].
        used: Option<u64> = one("used", "SIZE", SIZE).without(&["fill"]);
        /// Simulate a smaller device of as many blocks with an N-th of the pages in each: an N-th of the time and
        /// memory. Sizes are given and printed as of the whole device. For workloads; a trace takes ‹sample›.
        scale: Option<u32> = one("scale", "1/N", SAMPLE);
        /// Over-provisioning: physical / logical pages - 1 [default: a drive's own; 15% for others].
        over_provisioning: Option<f64> = one("over-provisioning", "SHARE", SHARE);
        /// Bytes that the host writes before the statistics begin, beside the fill: to see a device once it has
        /// settled, or one stretch of a run [default: none].
        warm_up: Option<u64> = one("warm-up", "SIZE", SIZE);
        /// Number of logical pages, as on a chip that is formatted already [default: from
        /// ‹over-provisioning›, ‹fill› or the trace's footprint].
        logical_pages: Option<u32> = one("logical-pages", "N", ONE_OR_MORE).without(&["over-provisioning"]);
        /// Filled pages that are read-only: a share of them, which workloads never write, or `unwritten`,
        /// those that the trace never writes [default: none].
        read_only: Option<ReadOnlyArg> = one("read-only", "SHARE|unwritten", READ_ONLY);
        /// Buffer pages that the host writes in RAM of this size, such as 64MiB: writes of a page that it holds
        /// coalesce. The page written longest ago leaves it first (lru:64MiB), or the page that came first
        /// (fifo:64MiB); a flush empties it [default: the device's own, or none].
        write_buffer: Option<Option<WriteBuffer>> = one("write-buffer", "SIZE|none", WRITE_BUFFER);
        /// Blocks that take the host's pages first, one bit a cell, and are folded into the log when they are full or in
        /// idle time: of their own (fixed:5%), or as many free ones as can be borrowed (dynamic, dynamic:20%). Cells
        /// hold 3 bits otherwise, unless said (fixed:5%/4) [default: the device's own, or none].
        slc_cache: Option<Option<SlcCache>> = one("slc-cache", "SIZE|none", SLC_CACHE);
        /// Make superblocks of the blocks at one position in all banks, which then work together: plain, or with a page
        /// of parity in each stripe [default: banks work by themselves].
        superblocks: Option<SuperblocksArg> = one("superblocks", "plain|parity", SUPERBLOCKS);
        /// Bytes that the drive programs for metadata beside each byte of a page, for `drive_write_amplification`
        /// [default: a drive's own; none for others].
        overhead: Option<f64> = one("overhead", "SHARE", SHARE);
        /// Requests the device works on at once [default: with ‹clock device› one, otherwise all that
        /// have arrived].
        queue_depth: Option<u32> = one("queue-depth", "N", COUNT);
        /// Serve reads first: a read passes the programs, copies and erases that wait for its bank, and at most N
        /// reads pass each of these [default: operations in order of arrival].
        reads_first: Option<u32> = one("reads-first", "N", ONE_OR_MORE);
        /// Time to suspend a running program or erase for a read, with ‹reads-first› [default: the
        /// profile's; without one nothing is suspended].
        suspend: Option<u64> = one("suspend", "TIME", TIME);
        /// Keep the map on the chip, as a device with little RAM does, and this much RAM for changes of it:
        /// 16KiB. For policies without memory per page; of dftl it is the table of map entries [default: the map in
        /// RAM].
        map_cache: Option<u64> = one("map-cache", "SIZE", SIZE);
        /// Retire blocks at their rated endurance (P/E cycles).
        wear_out: bool = flag("wear-out");
        /// Host writes a day for lifetimes in years: 50GB, 20GiB [default: the rate of the trace's
        /// arrivals].
        daily_writes: Option<u64> = one("daily-writes", "SIZE", DAILY_WRITES);
        /// When a request starts: when the previous one has ended (device), or at its arrival time
        /// (arrivals) [default: arrivals if the input has any].
        clock: Option<ClockArg> = one("clock", "WHOSE", CLOCK);
        /// Arrivals of a Poisson process at this share of the rate that the device sustains, in place of the
        /// input's: 70%. The rate is measured first, with greedy garbage collection [default: the input's arrivals].
        load: Option<f64> = one("load", "SHARE", SHARE);
        /// Unit of the ages that policies transform [default: 1700 times the mean gap between page writes;
        /// 363 erase times without arrivals].
        time_scale: Option<u64> = one("time-scale", "TIME", TIME);
    }
}

choices! {
    /// How the device is written before the statistics begin.
    pub enum PreconditionArg, PRECONDITION {
        /// Nothing: as from the factory.
        Fresh = "fresh",
        /// Every page once, in order.
        Sequential = "sequential",
        /// Every page once, in random order.
        Shuffled = "shuffled",
    }
}

choices! {
    /// What superblocks hold.
    pub enum SuperblocksArg, SUPERBLOCKS {
        /// Data alone.
        Plain = "plain",
        /// Data, and a page of parity in each stripe.
        Parity = "parity",
    }
}

choices! {
    /// Whose time runs.
    pub enum ClockArg, CLOCK {
        /// A request starts when the previous one has ended.
        Device = "device",
        /// A request starts when the trace or the Poisson process says.
        Arrivals = "arrivals",
    }
}

impl DeviceArgs {
    /// Over-provisioning for a device with this value of its own.
    #[must_use]
    pub fn spare(&self, own: Option<f64>) -> f64 {
        self.over_provisioning.or(own).unwrap_or(USUAL_OVER_PROVISIONING)
    }
}

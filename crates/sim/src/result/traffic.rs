//! Host requests and flash operations.

use crate::{
    Input,
    facts::Facts,
    metric::{Format, Look, part},
};

part! {
    /// What a run was driven by.
    pub struct TraceInfo ("trace") of facts {
        /// The trace's file, or the workload's specification.
        pub path: String = path(facts) => Look::HIDDEN,
        /// SHA-256 of the decoded requests of a trace; `null` for workloads, which their specification
        /// and the seed determine.
        pub digest: Option<String> = match facts.job.input {
            Input::Trace(trace, _) => Some(trace.digest.clone()),
            Input::Workload(_) => None,
        } => Look::HIDDEN,
        /// Requests of all kinds, in all loops.
        pub requests: u64 = facts.measured.requests => Look::HIDDEN,
        /// From the start to the last arrival; `null` on the device's own clock.
        pub arrivals_us: Option<f64> =
            facts.measured.last_arrival_ns.map(|ns| ns as f64 / 1000.0) => Look::HIDDEN,
    }
}

part! {
    /// What the host asked.
    #[derive(Copy, Eq)]
    pub struct Host ("host") of facts {
        /// Requests of all kinds.
        pub requests: u64 = facts.measured.requests => Look::line("requests", Format::Count),
        /// Bytes of all writes, as asked.
        pub bytes_written: u64 = facts.measured.bytes_written
            => Look::line("bytes written", Format::Bytes),
        /// Pages written, those written in part included.
        pub pages_written: u64 = facts.layer.host_writes
            => Look::line("pages written", Format::Count),
        /// Pages read that held data, those read to be modified included.
        // Those of a watcher go through the same door.
        pub pages_read: u64 = facts.layer.host_reads - facts.extra_reads()
            => Look::line("pages read", Format::Count),
        /// Pages trimmed.
        pub pages_trimmed: u64 = facts.layer.trims => Look::line("pages trimmed", Format::Count),
        /// Flushes.
        pub flushes: u64 = facts.measured.flushes => Look::line("flushes", Format::Count),
    }
}

part! {
    /// What the chip did.
    #[derive(Copy, Eq)]
    pub struct Flash ("flash") of facts {
        /// Pages programmed, for the host and for the layer.
        pub pages_programmed: u64 = facts.chip.programs + facts.chip.copies
            => Look::line("pages programmed", Format::Count),
        /// Pages read, for the host and for the layer.
        pub pages_read: u64 = facts.chip.reads + facts.chip.copies
            => Look::line("pages read", Format::Count),
        /// Valid pages the layer moved; part of both.
        pub pages_copied: u64 = facts.layer.copies
            => Look::line("pages copied", Format::Count).column("copied\npages", 9).less(),
        /// Pages of parity programmed beside them: one for each full stripe. Absent where there is no parity.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub parity_pages_programmed: Option<u64> = parity(facts)
            => Look::line("pages of parity programmed", Format::Count),
        /// Out-of-band areas read by themselves.
        pub oob_read: u64 = facts.chip.oob_reads
            => Look::line("out-of-band areas read", Format::Count).quiet(),
        /// Reads that passed programs, copies or erases; absent where reads do not go first.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reads_passing: Option<u64> = facts.measured.passed.map(|passed| passed.reads)
            => Look::line("reads that passed other operations", Format::Count),
        /// Programs, copies and erases suspended for a read; absent where reads do not go first.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub suspensions: Option<u64> = facts.measured.passed.map(|passed| passed.suspensions)
            => Look::line("operations suspended", Format::Count),
        /// Blocks erased.
        pub blocks_erased: u64 = facts.layer.erases
            => Look::line("blocks erased", Format::Count).column("erases", 7).less(),
    }
}

fn parity(facts: &Facts<'_>) -> Option<u64> {
    let data = facts.setup.plan.device.profile.stripe_pages? - 1;
    Some((facts.chip.programs + facts.chip.copies) / u64::from(data))
}

fn path(facts: &Facts<'_>) -> String {
    match facts.job.input {
        Input::Trace(trace, _) => trace.path.clone(),
        Input::Workload(workload) => workload.on(facts.used_bytes()).name(),
    }
}

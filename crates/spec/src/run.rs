//! One simulation.

use crate::{
    cleaning::CleaningArgs,
    device::DeviceArgs,
    group,
    input::{MappingArgs, OneInput, WorkloadArgs},
    reading::ReadingArgs,
    transform::TransformArgs,
    values::{NUMBER, PLACEMENT, POLICY, THREADS, VICTIM},
};

group! {
    /// One policy on one input.
    pub struct OnePolicy, "Policy" {
        /// The input.
        input: OneInput = flat();
        /// Policy, with parameters in brackets: 'cat(tau=84min)' (`thermocline policies` lists them)
        /// [default: thermocline; with ‹victim› or ‹placement› alone, a plain log].
        policy: Option<String> = one("policy", "NAME", POLICY);
        /// Victim policy, in place of the policy's own.
        victim: Option<String> = one("victim", "NAME", VICTIM);
        /// Placement, in place of the policy's own.
        placement: Option<String> = one("placement", "NAME", PLACEMENT);
        /// Run the oracle too, which knows the future, and say how much more the policy writes.
        oracle: bool = flag("oracle");
    }
}

group! {
    /// The settings of a run.
    pub struct RunSpec, "Running" {
        /// The policy and the input.
        one: OnePolicy = flat();
        /// Everything else.
        simulation: SimulationArgs = flat();
    }
}

group! {
    /// Everything but inputs and policies.
    pub struct SimulationArgs, "Running" {
        /// What a workload is like.
        workload: WorkloadArgs = flat();
        /// How addresses become pages.
        mapping: MappingArgs = flat();
        /// The device.
        device: DeviceArgs = flat();
        /// When it cleans.
        cleaning: CleaningArgs = flat();
        /// How a trace is read.
        reading: ReadingArgs = flat();
        /// What is done to it first.
        transforms: TransformArgs = flat();
        /// Seed of all random choices; one seed gives one result.
        seed: u64 = one("seed", "N", NUMBER).under("Running").default("1");
        /// Number of threads; 0 is one per core. Results do not depend on it.
        threads: usize = one("threads", "N", THREADS).under("Running").default("0").also(Some('j'), None);
        /// Recount all tables at the end, and fail if any count differs.
        check: bool = flag("check").under("Running");
    }
}

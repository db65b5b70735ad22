//! From settings in words to results: what every door (command line, Python, Rust) asks for.
//!
//! ```text
//! // Settings: the options of the command line, understood by clap. Errors are `SimError`s by kind.
//! RunSettings::parse(["--trace=disk.csv", "--policy=dac", "--over-provisioning=15%"])? -> RunSettings
//! CompareSettings::parse(words)? -> CompareSettings
//! SweepSettings { file, seeds, until, tolerance, swept: Swept }    // Swept::set(option, values, is_list)
//! settings::options() -> Vec<OptionInfo { name, help, value_name, default, heading, flag }>
//!
//! // Who is told, who may stop the work, and where traces in memory are.
//! trait Listener: Sync {
//!     fn say(&self, kind: Remark, text: &str);               // Remark::{Info, Note, Warning, Failure}
//!     fn begin(&self, meter: Arc<dyn Meter>) -> Box<dyn Any>; // work begins; it is over when the box is dropped
//! }
//! trait Meter: Send + Sync { fn read(&self) -> Reading { message, done, total: Option<u64>, unit } }
//! trait Traces: Sync {
//!     fn open(&self, name: &str) -> Option<Result<Box<dyn Source + '_>, SimError>>; // `--trace NAME`
//!     fn digest(&self, name: &str) -> Option<String>;                              // for a sweep's store
//! }
//! Context::new(&listener, &Arc<Progress>).with_traces(&traces)   // Copy; Progress::cancel() interrupts
//!
//! // One policy on one input; many on many; what `--json` prints by `.json()`.
//! run(&RunSettings, context)? -> Ran { result: RunResult, history, notes: Vec<String>, .. }
//! compare(&CompareSettings, context)? -> Compared { inputs, notes }; .json(aim) -> Value
//!
//! // A sweep: jobs by digest. Any process may execute one from its words alone.
//! sweep::plan(&SweepSettings, context)? -> Vec<Planned { digest: Result<String, SimError>, settings: Settings, name }>
//! sweep::execute(&Settings, context)? -> Executed { result: Value, notes }
//! sweep::Session::new(&store, threads, context).ensure(&cells)?   // locally, all cores
//!
//! fleet::run(&CompareSettings, context, |settings, result| ..)? -> Fleet { policies, samples, summaries, .. }
//! reproduce::run(&ReproduceSettings { what, papers, traces, quick, no_readings, threads }, context)? -> Reproduced; .json()
//! catalogue::{policies, devices, workloads, formats}() -> Value
//! trace::{info, convert, generate}
//! ```

//! `thermocline trace generate`: a workload as a trace.

use thermocline_study::Counted;
use thermocline_trace::generate::{GeneratorOptions, PatternSpec};
use thermocline_workloads::{WorkloadSpec, open};

use super::target::Target;
use crate::{args::trace::GenerateArgs, console::Console, exit::Failure, print::number};

/// How often the span is written where nothing else is said, as `run` does.
const DEFAULT_SPANS: u64 = 4;

/// Bytes that are addressed where nothing else is said.
const DEFAULT_SPAN: u64 = 256 << 20;
/// The same for a file workload: seven eighths of the thesis' chip of 64 MB, what a block-mapped
/// layer exports of it.
const DEFAULT_VOLUME: u64 = 56 << 20;

/// Generates and writes.
pub fn run(args: &GenerateArgs, console: Console) -> Result<(), Failure> {
    let steady = matches!(args.spec, WorkloadSpec::Pattern(PatternSpec::Steady(_)));
    let files = matches!(args.spec, WorkloadSpec::Files(_));
    let span = args.span.unwrap_or(if files { DEFAULT_VOLUME } else { DEFAULT_SPAN });
    let options = GeneratorOptions {
        span_bytes: span,
        bytes: args.bytes.or(steady.then_some(span.saturating_mul(DEFAULT_SPANS))),
        request_bytes: args.request,
        page_bytes: args.page_size,
        interarrival_ns: args.interarrival.map(|ns| ns as f64),
        seed: args.seed,
        read_share: args.reads,
    };
    let target = Target::open(&args.target)?;
    let mut generator = open(&args.spec, &options)?;
    let message = format!("generating {}", args.spec);
    let requests = target.write(&mut Counted::new(console.context(), message, &mut generator))?;
    let out = args.target.out.display();
    console.remark(&format!("{} written to {out}", number::counted(requests, "request")));
    if generator.prelude() > 0 {
        let prelude = number::counted(generator.prelude(), "request");
        console.remark(&format!("the first {prelude} make and fill the file system"));
    }
    Ok(())
}

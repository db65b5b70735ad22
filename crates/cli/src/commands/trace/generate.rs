//! `thermocline trace generate`: a workload as a trace.

use thermocline_trace::generate::{Generator, GeneratorOptions, WorkloadSpec};

use super::target::Target;
use crate::{
    args::trace::GenerateArgs, console::Console, exit::Failure, print::number, progress::Counted,
};

/// How often the span is written where nothing else is said, as `run` does.
const DEFAULT_SPANS: u64 = 4;

/// Generates and writes.
pub fn run(args: &GenerateArgs, console: Console) -> Result<(), Failure> {
    let steady = matches!(args.spec, WorkloadSpec::Steady(_));
    let options = GeneratorOptions {
        span_bytes: args.span,
        bytes: args.bytes.or(steady.then_some(args.span.saturating_mul(DEFAULT_SPANS))),
        request_bytes: args.request,
        page_bytes: args.page_size,
        interarrival_ns: args.interarrival.map(|ns| ns as f64),
        seed: args.seed,
        read_share: args.reads,
    };
    let target = Target::open(&args.target)?;
    let mut generator = Generator::new(&args.spec, &options)?;
    let message = format!("generating {}", args.spec);
    let requests = target.write(&mut Counted::new(console, message, &mut generator))?;
    let out = args.target.out.display();
    console.remark(&format!("{} written to {out}", number::counted(requests, "request")));
    Ok(())
}

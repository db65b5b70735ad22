//! `thermocline trace generate`: a workload as a trace.

use thermocline_study::{Counted, trace::generator};

use super::target::Target;
use crate::{args::trace::GenerateArgs, console::Console, exit::Failure, print::number};

/// Generates and writes.
pub fn run(args: &GenerateArgs, console: Console) -> Result<(), Failure> {
    let target = Target::open(&args.target)?;
    let mut generator = generator(&args.spec, &args.shape)?;
    let message = format!("generating {}", args.spec);
    let requests =
        target.write(&mut Counted::new(console.context(), message, &mut generator), None)?;
    let out = args.target.out.display();
    console.remark(&format!("{} written to {out}", number::counted(requests, "request")));
    if generator.prelude() > 0 {
        let prelude = number::counted(generator.prelude(), "request");
        console.remark(&format!("the first {prelude} make and fill the file system"));
    }
    Ok(())
}

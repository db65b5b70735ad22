//! `thermocline trace convert`: from any format to one of ours.

use thermocline_trace::{Source, transform::Rebase};

use super::target::Target;
use crate::{
    args::trace::ConvertArgs, console::Console, exit::Failure, opening, print::number,
    progress::Counted,
};

/// Reads, changes and writes the trace.
pub fn run(args: &ConvertArgs, console: Console) -> Result<(), Failure> {
    let name = args.file.display();
    let target = Target::open(&args.target)?;
    let convert = |source: &mut dyn Source| {
        let mut counted = Counted::new(console, format!("converting {name}"), source);
        if args.rebase {
            target.write(&mut Rebase::new(counted))
        } else {
            target.write(&mut counted)
        }
    };
    let (requests, _) =
        opening::with_trace(&args.file, &args.reading, &args.transforms, console, convert)?;
    let out = args.target.out.display();
    console.remark(&format!("{} written to {out}", number::counted(requests, "request")));
    Ok(())
}

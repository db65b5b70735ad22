//! `thermocline trace convert`: from any format to one of ours.

use std::path::Path;

use thermocline_study::{Counted, opening};
use thermocline_trace::{Source, transform::Rebase};

use super::target::Target;
use crate::{args::trace::ConvertArgs, console::Console, exit::Failure, print::number};

/// Reads, changes and writes the trace.
pub fn run(args: &ConvertArgs, console: Console) -> Result<(), Failure> {
    let name = args.file.display();
    let out = &args.target.out;
    if is_same_file(&args.file, out) {
        return Err(Failure::usage(format!(
            "{} is the input; choose another output file",
            out.display()
        )));
    }
    let target = Target::open(&args.target)?;
    let convert = |source: &mut dyn Source, device: Option<&str>| {
        let mut counted = Counted::new(console.context(), format!("converting {name}"), source);
        let written = if args.rebase {
            target.write(&mut Rebase::new(counted), device)
        } else {
            target.write(&mut counted, device)
        };
        match written {
            Err(Failure::Sim(error)) => Err(error),
            other => Ok(other),
        }
    };
    let (requests, _) = opening::with_device(
        &args.file,
        &args.reading.options(),
        &args.transforms,
        console.context(),
        convert,
    )?;
    let written = number::counted(requests?, "request");
    console.remark(&format!("{written} written to {}", out.display()));
    Ok(())
}

/// Whether two names lead to one file. Devices and pipes may well be read and written.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other && one.is_file() && other.is_file(),
        _ => false,
    }
}

//! Serves a chip in memory: `serve --unix PATH [--tcp ADDR] [--metrics ADDR] [--size MIB] [--record FILE] [--policy VICTIM] [--pace]`.

#[path = "../tests/server/layer.rs"]
mod layer;

use std::path::Path;

use thermocline_flash::Timing;
use thermocline_server::{Listener, Opening, Options, Pace, Server};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (mut listeners, mut options, mut mib, mut pace) =
        (Vec::new(), Options::default(), 256_u32, false);
    let mut policy = "greedy".to_owned();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} wants a value"));
        match arg.as_str() {
            "--unix" => listeners.push(Listener::unix(Path::new(&value()?))?),
            "--tcp" => listeners.push(Listener::tcp(&value()?)?),
            "--metrics" => options.metrics = Some(value()?),
            "--record" => options.record = Some(value()?.into()),
            "--size" => mib = value()?.parse()?,
            "--policy" => policy = value()?,
            "--pace" => pace = true,
            other => return Err(format!("no option {other}").into()),
        }
    }
    listeners.extend(Listener::inherited()?);
    let pages = mib * 256;
    // 15 % of spare space.
    let mut chip = layer::ram(pages / 64 * 115 / 100 + 8);
    let mut slowed = None;
    if pace {
        let timing = Timing {
            read_ns: 60_000,
            program_ns: 700_000,
            erase_ns: 3_000_000,
            ..Timing::default()
        };
        let (paced, pace) = Pace::slow(chip, timing);
        (chip, slowed) = (paced, Some(pace));
    }
    let layer = layer::page_mapped(chip, &policy, pages, 0);
    let opening = Opening { pace: slowed, ..Opening::new(layer) };
    let mut server = Server::new(vec![opening], options)?;
    listeners.into_iter().for_each(|listener| server.listen(listener));
    server.run()?;
    Ok(())
}

//! `thermocline ctl`: an operator's word with a server that runs.

use serde_json::Value;
use thermocline_server::{
    Change,
    control::{Command, client::Client},
};

use super::{check, live, stat};
use crate::{
    args::store::{CtlArgs, CtlCommand},
    exit::Failure,
    output::Output,
    print::{json, number},
};

/// Asks, and shows the answer.
pub fn run(args: &CtlArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let place = &args.target;
    let failed = |why: String| Failure::failed(format!("{place}: {why}"));
    let mut client = live::serving(place, args.export.as_deref())?;
    let answer = client.ask(command(&args.command)).map_err(failed)?;
    if args.json && !matches!(args.command, CtlCommand::Check) {
        json::print(&answer, output)?;
        wait(&args.command, client);
        return Ok(());
    }
    match &args.command {
        CtlCommand::Stat => return stat::show_live(&answer, output),
        CtlCommand::Check => return check::show_live(&answer, args.json, output),
        _ => output.put_styled(&text(&args.command, &answer))?,
    }
    wait(&args.command, client);
    Ok(())
}

fn command(asked: &CtlCommand) -> Command {
    match asked {
        CtlCommand::Stat => Command::Stat,
        CtlCommand::Check => Command::Check,
        CtlCommand::Scrub => Command::Scrub,
        CtlCommand::Flush => Command::Flush,
        CtlCommand::Policy { policy, victim, placement } => Command::Set(Change {
            policy: policy.clone(),
            victim: victim.clone(),
            placement: placement.clone(),
            ..Change::default()
        }),
        CtlCommand::Watermarks { reserve, low, high } => {
            Command::Set(Change { reserve: *reserve, low: *low, high: *high, ..Change::default() })
        }
        CtlCommand::Drain => Command::Drain,
        CtlCommand::Stop => Command::Stop,
    }
}

fn text(asked: &CtlCommand, answer: &Value) -> String {
    let count = |key: &str| number::grouped(answer[key].as_u64().unwrap_or(0));
    match asked {
        CtlCommand::Scrub => format!("{} blocks moved\n", count("blocks_scrubbed")),
        CtlCommand::Flush => "all that was written lasts\n".into(),
        CtlCommand::Policy { .. } | CtlCommand::Watermarks { .. } => {
            let settings = &answer["settings"];
            format!(
                "policy {}, reserve {}, low {}, high {}; clients waited {} ms\n",
                settings["policy"].as_str().unwrap_or("?"),
                settings["reserve"],
                settings["low"],
                settings["high"],
                number::fixed(answer["held_ms"].as_f64().unwrap_or(0.0), 1)
            )
        }
        CtlCommand::Drain => {
            format!("draining: {} clients are still connected\n", count("connections"))
        }
        _ => "stopping\n".into(),
    }
}

/// A server that stops has let go of its chips when this returns.
fn wait(asked: &CtlCommand, client: Client) {
    if let CtlCommand::Stop = asked {
        client.wait_until_gone();
    }
}

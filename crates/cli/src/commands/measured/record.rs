//! `thermocline measured record`: a drive's counters, again and again, by the ordinary tool.

use std::{
    ffi::{OsStr, OsString},
    io::ErrorKind,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use thermocline_measured::{
    MeasuredError, Options, Reading,
    documents::{self, Document, Text},
    formats, join,
};
use thermocline_sim::SimError;

use super::{bad, open, write};
use crate::{args::measured::RecordArgs, console::Console, exit::Failure, interrupt};

/// How long a wait may last before the wish to stop is looked at.
const STEP: Duration = Duration::from_millis(50);
/// Failures in a row after which the recording ends.
const PATIENCE: u32 = 3;

/// Polls until the time is over or Ctrl-C, and writes the measurement.
pub fn run(args: &RecordArgs, console: Console) -> Result<(), Failure> {
    let output = open(&args.target)?;
    let commands = commands(&args.what)?;
    let every = Duration::from_nanos(args.every);
    let until = args.duration.map(Duration::from_nanos);
    let start = Instant::now();
    let (mut readings, mut notes, mut failures) = (Vec::new(), Vec::new(), 0);
    for round in 0_u32.. {
        match poll(&commands, start, round, &mut notes) {
            Ok(found) => {
                readings.extend(found);
                failures = 0;
            }
            Err(_) if stopped() => {}
            Err(error) => {
                failures += 1;
                // Before anything was read there is nothing to save.
                if readings.is_empty() || failures == PATIENCE {
                    return Err(error);
                }
                console.note(&format!("reading {} is left out: {error}", round + 1));
            }
        }
        let next = every.saturating_mul(round + 1);
        if until.is_some_and(|until| next > until) || !wait(start + next) {
            break;
        }
    }
    let interrupted = stopped() && until.is_some();
    let imported = join(readings, &Options::default(), notes).map_err(|e| bad(&e))?;
    write(&imported, &args.target, output, console)?;
    // Without an end Ctrl-C is the end.
    if interrupted { Err(SimError::Interrupted.into()) } else { Ok(()) }
}

fn stopped() -> bool {
    interrupt::progress().is_cancelled()
}

/// Waits, unless it is to stop.
fn wait(until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if stopped() || left.is_zero() {
            return !stopped();
        }
        thread::sleep(left.min(STEP));
    }
}

/// The command that was given, or those for a device.
fn commands(what: &[OsString]) -> Result<Vec<Vec<OsString>>, Failure> {
    let [only] = what else { return Ok(vec![what.to_vec()]) };
    let path = Path::new(only);
    if !path.starts_with("/dev") {
        return Ok(vec![what.to_vec()]);
    }
    if !path.exists() {
        return Err(Failure::usage(format!(
            "{}: there is no such device; `lsblk` lists them",
            path.display()
        )));
    }
    let words =
        |words: &[&str]| words.iter().map(OsString::from).chain([only.clone()]).collect::<Vec<_>>();
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    Ok(match name.starts_with("nvme") {
        true => vec![
            words(&["nvme", "smart-log", "-o", "json"]),
            words(&["nvme", "ocp", "smart-add-log", "-o", "json"]),
        ],
        false => vec![words(&["smartctl", "-j", "-i", "-A"])],
    })
}

/// Runs every command once. All readings of a round have one time.
fn poll(
    commands: &[Vec<OsString>],
    start: Instant,
    round: u32,
    notes: &mut Vec<String>,
) -> Result<Vec<Reading>, Failure> {
    let time = start.elapsed().as_secs_f64();
    let mut readings = Vec::new();
    for command in commands {
        let shown: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        let shown = shown.join(" ");
        let text =
            Text::of(&format!("reading {} of `{shown}`", round + 1), printed(command, &shown)?);
        let read = |documents: Vec<Document>, notes: &mut Vec<String>| {
            let read = documents.iter().map(|one| formats::read(one, notes));
            read.collect::<Result<Vec<_>, MeasuredError>>()
        };
        let found = documents::split(&[text]).and_then(|all| read(all, notes));
        let found = found.map_err(|e| bad(&e))?;
        let now = |reading: Reading| Reading { time: Some(time), ..reading };
        readings.extend(found.into_iter().flatten().map(now));
    }
    Ok(readings)
}

/// The output of a tool. smartctl sets warning bits in its exit code even if it printed everything.
fn printed(command: &[OsString], shown: &str) -> Result<String, Failure> {
    let (program, arguments) = command.split_first().expect("a command has a program");
    let ran = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let ran = ran.map_err(|e| match e.kind() {
        ErrorKind::NotFound => Failure::usage(format!(
            "`{}` is not installed; nvme-cli has nvme, smartmontools has smartctl; or give another command \
             after --",
            program.to_string_lossy()
        )),
        _ => Failure::failed(format!("`{shown}`: {e}")),
    })?;
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    if out.trim().is_empty() || (!ran.status.success() && !shown.starts_with("smartctl")) {
        let said = String::from_utf8_lossy(&ran.stderr);
        let said = said.trim().lines().last().unwrap_or("it printed nothing").to_owned();
        return Err(Failure::failed(format!("`{shown}` failed ({}): {said}", ran.status)));
    }
    Ok(out)
}

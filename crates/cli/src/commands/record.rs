//! `thermocline record`: records the requests to a disk with an installed tool.

use std::{
    env, fs,
    io::{self, ErrorKind, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use thermocline_units::show_size;

use crate::{
    args::record::{RecordArgs, Tool},
    console::Console,
    exit::Failure,
    output::Output,
    print::number,
};

const SECOND: u64 = 1_000_000_000;

/// The tools that record a device, the better first.
const OF_DEVICES: [Tool; 2] = [Tool::Blktrace, Tool::Bpftrace];

/// Records, and says where the trace is and what to do with it.
pub fn run(args: &RecordArgs, console: Console) -> Result<(), Failure> {
    let seconds = args.duration.div_ceil(SECOND).max(1);
    let is_job = args.what.extension().is_some_and(|ending| ending == "fio");
    let tool = tool(args, is_job)?;
    let device = match tool {
        Tool::Fio if !is_job => {
            return Err(Failure::usage(format!(
                "fio records its own jobs: name a job file that ends in .fio instead of {}",
                args.what.display()
            )));
        }
        Tool::Fio => None,
        _ if is_job => {
            return Err(Failure::usage("a fio job is recorded by fio; leave out --tool"));
        }
        _ => Some(Device::of(&args.what)?),
    };
    let base = match (&args.output, &device) {
        (Some(output), _) => output.clone(),
        (None, Some(device)) => PathBuf::from(device.node.file_name().unwrap_or_default()),
        (None, None) => PathBuf::from(args.what.file_stem().unwrap_or_default()),
    };
    let recording = recording(tool, &base);
    if let Some(there) = files(tool, &recording)?.first() {
        return Err(Failure::usage(format!(
            "{} exists; name another recording with --output",
            there.display()
        )));
    }
    if let Some(device) = &device {
        device.warn(&recording, console);
    }
    let named = |tool| program(tool).display().to_string();
    let what = device.as_ref().map_or(&args.what, |device| &device.node).display().to_string();
    console.remark(&format!("recording {what} with {} for {seconds} s", named(tool)));
    let job = (tool == Tool::Fio).then(|| job(&args.what, &recording, seconds)).transpose()?;
    let mut command = Command::new(program(tool));
    command.args(arguments(tool, device.as_ref(), &recording, seconds, job.as_ref()));
    let ended = command.status().map_err(|e| missing_or(tool, &e))?;
    let files = files(tool, &recording)?;
    let bytes: u64 = files.iter().filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum();
    if !ended.success() || bytes == 0 {
        return Err(Failure::failed(failed(tool, ended, bytes)));
    }
    let mut text = format!("{}: {}\n", recording.display(), show_size(bytes));
    if files.len() > 1 {
        text = format!(
            "{}.blktrace.*: {}, {}\n",
            recording.display(),
            number::counted(files.len() as u64, "file"),
            show_size(bytes)
        );
    }
    let name = quoted(&recording);
    text += &format!("next: thermocline trace info {name}\n");
    text += &format!("      thermocline compare {name}\n");
    Output::open(None)?.put(text.as_bytes())
}

/// The tool that was asked for, or the first that is installed.
fn tool(args: &RecordArgs, is_job: bool) -> Result<Tool, Failure> {
    let wanted = args.tool.or(is_job.then_some(Tool::Fio));
    let candidates = wanted.map_or(OF_DEVICES.to_vec(), |tool| vec![tool]);
    let found = candidates.iter().copied().find(|tool| is_installed(*tool));
    found.ok_or_else(|| Failure::usage(missing(&candidates)))
}

fn program(tool: Tool) -> &'static Path {
    Path::new(match tool {
        Tool::Blktrace => "blktrace",
        Tool::Bpftrace => "bpftrace",
        Tool::Fio => "fio",
    })
}

fn is_installed(tool: Tool) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    let is_program = |path: PathBuf| {
        fs::metadata(path).is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0)
    };
    env::split_paths(&folders).any(|folder| is_program(folder.join(program(tool))))
}

fn missing(tools: &[Tool]) -> String {
    let names: Vec<_> = tools.iter().map(|tool| program(*tool).display().to_string()).collect();
    let first = &names[0];
    format!(
        "{} not installed; install one: `apt install {first}` (Debian, Ubuntu), `dnf install {first}` \
         (Fedora), `pacman -S {first}` (Arch), or look for {first} in your distribution",
        match &names[..] {
            [only] => format!("{only} is"),
            all => format!("{} are", all.join(" and ")),
        }
    )
}

fn missing_or(tool: Tool, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::usage(missing(&[tool])),
        _ => Failure::failed(format!("{}: {error}", program(tool).display())),
    }
}

fn failed(tool: Tool, ended: ExitStatus, bytes: u64) -> String {
    let name = program(tool).display();
    let why = match ended.success() {
        true => format!("{name} recorded nothing"),
        false => format!("{name} failed ({ended})"),
    };
    let remedy = match tool {
        Tool::Fio => "see what it says above",
        _ if bytes == 0 && ended.success() => "is the disk in use? record longer with --for",
        Tool::Blktrace => {
            "it needs root and debugfs: `sudo mount -t debugfs none /sys/kernel/debug`, then \
             `sudo thermocline record …`"
        }
        Tool::Bpftrace => "it needs root: `sudo thermocline record …`",
    };
    format!("{why}; {remedy}")
}

/// A block device: its node, and its number.
struct Device {
    node: PathBuf,
    number: u64,
}

impl Device {
    fn of(path: &Path) -> Result<Self, Failure> {
        let about = fs::metadata(path).map_err(|e| {
            Failure::usage(format!("{}: {e}; name a block device such as /dev/sda", path.display()))
        })?;
        if !(about.is_file() || about.is_dir()) {
            return Ok(Self { node: path.to_owned(), number: about.rdev() });
        }
        // The device below a file: the kernel lists block devices by number.
        let number = about.dev();
        let (major, minor) = (major(number), minor(number));
        let listed = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
        let name =
            fs::canonicalize(&listed).ok().and_then(|path| Some(path.file_name()?.to_owned()));
        let node = name.map(|name| Path::new("/dev").join(name));
        let node = node.ok_or_else(|| {
            Failure::usage(format!(
                "{} is on no block device of its own (number {major}:{minor}); name the device, as \
                 `lsblk` lists them",
                path.display()
            ))
        })?;
        Ok(Self { node, number })
    }

    /// Whoever records a disk onto itself records the recording.
    fn warn(&self, recording: &Path, console: Console) {
        let folder = recording.parent().filter(|folder| !folder.as_os_str().is_empty());
        let about = fs::metadata(folder.unwrap_or(Path::new(".")));
        if about.is_ok_and(|about| about.dev() == self.number) {
            console.note(&format!(
                "{} is on the disk that is recorded, and its own writes are in it; --output on another \
                 disk keeps them out",
                recording.display()
            ));
        }
    }
}

const fn major(number: u64) -> u64 {
    (number >> 8 & 0xfff) | (number >> 32 & !0xfff)
}

const fn minor(number: u64) -> u64 {
    (number & 0xff) | (number >> 12 & !0xff)
}

/// The name that the trace is read by.
fn recording(tool: Tool, base: &Path) -> PathBuf {
    let ending = match tool {
        // A prefix of the names of its files.
        Tool::Blktrace => return base.to_owned(),
        Tool::Bpftrace => "csv",
        Tool::Fio => "iolog",
    };
    match base.extension() {
        Some(_) => base.to_owned(),
        None => base.with_extension(ending),
    }
}

/// The files of a recording that are there.
fn files(tool: Tool, recording: &Path) -> Result<Vec<PathBuf>, Failure> {
    if tool != Tool::Blktrace {
        return Ok([recording.to_owned()].into_iter().filter(|file| file.exists()).collect());
    }
    let folder = recording.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let name = recording.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let listed = fs::read_dir(folder)
        .map_err(|e| Failure::usage(format!("{}: {e}; make the folder first", folder.display())))?;
    let is_part = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        file.strip_prefix(&format!("{name}.blktrace.")).is_some_and(|n| n.parse::<u32>().is_ok())
    };
    let mut files: Vec<_> =
        listed.filter_map(|entry| Some(entry.ok()?.path())).filter(is_part).collect();
    files.sort();
    Ok(files)
}

/// The command line of a tool.
fn arguments(
    tool: Tool,
    device: Option<&Device>,
    recording: &Path,
    seconds: u64,
    job: Option<&tempfile::NamedTempFile>,
) -> Vec<String> {
    let text = |path: &Path| path.display().to_string();
    let node = device.map(|device| text(&device.node)).unwrap_or_default();
    match tool {
        // The disk gets issued requests; other actions would make the files larger.
        Tool::Blktrace => {
            let words = ["-a", "issue", "-d", &node, "-w", &seconds.to_string(), "-o"];
            let words = words.into_iter().map(str::to_owned);
            words.chain([text(recording)]).collect()
        }
        Tool::Bpftrace => {
            let number = device.map_or(0, |device| device.number);
            let program = tracer(number, seconds);
            ["-q", "-o"]
                .map(str::to_owned)
                .into_iter()
                .chain([text(recording), "-e".into(), program])
                .collect()
        }
        Tool::Fio => job.map(|job| text(job.path())).into_iter().collect(),
    }
}

/// A program that prints a row for each request to a disk, or to a partition. The kernel's tracepoints
/// number devices by 12 and 20 bits.
fn tracer(number: u64, seconds: u64) -> String {
    let device = major(number) << 20 | minor(number);
    format!(
        "BEGIN {{ printf(\"time_ns,op,offset_bytes,size_bytes\\n\"); }} \
         tracepoint:block:block_rq_issue /args->dev == {device}/ \
         {{ printf(\"%llu,%s,%llu,%llu\\n\", nsecs, str(args->rwbs), \
         (uint64)args->sector * 512, (uint64)args->nr_sector * 512); }} \
         interval:s:{seconds} {{ exit(); }}"
    )
}

/// The job with log and time in front; the job's own settings come later and override them.
fn job(path: &Path, recording: &Path, seconds: u64) -> Result<tempfile::NamedTempFile, Failure> {
    let bad = |e: io::Error| Failure::usage(format!("{}: {e}", path.display()));
    let own = fs::read_to_string(path).map_err(bad)?;
    let mut file = tempfile::Builder::new().suffix(".fio").tempfile().map_err(bad)?;
    write!(
        file,
        "[global]\nwrite_iolog={}\nruntime={seconds}\n\n{own}",
        std::path::absolute(recording).map_err(bad)?.display()
    )
    .map_err(bad)?;
    Ok(file)
}

/// A name as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    match text.chars().all(plain) && !text.is_empty() && !text.starts_with('-') {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_numbered_as_the_kernels_tracepoints_number_them() {
        // 8:1, and 259:70000 with bits on both sides.
        let disk = 8 << 8 | 1;
        assert_eq!((major(disk), minor(disk)), (8, 1));
        assert!(tracer(disk, 600).contains("args->dev == 8388609/"));
        let large = 259 << 8 | (70_000 & 0xff) | (70_000_u64 & !0xff) << 12;
        assert_eq!((major(large), minor(large)), (259, 70_000));
        assert!(tracer(disk, 600).contains("interval:s:600"));
    }

    #[test]
    fn names_are_quoted_where_a_shell_would_read_them_otherwise() {
        assert_eq!(quoted(Path::new("/tmp/sda.csv")), "/tmp/sda.csv");
        assert_eq!(quoted(Path::new("my disk's")), r"'my disk'\''s'");
    }
}

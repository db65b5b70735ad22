//! The arguments of the commands that work on a chip that holds data.

use std::{convert::Infallible, fmt::Display, path::PathBuf, str::FromStr};

use clap::{Args, Subcommand, ValueHint};
use thermocline_assembly::demand_paged::dump::Spare;
use thermocline_media::{Faults, Place};
use thermocline_policy::preset::LayerKind;
use thermocline_server::Network;
use thermocline_study::settings::{cleaning::CleaningArgs, device::ShapeArgs};

use super::{
    media,
    settings::{Of, Suggest},
    values,
};

const CHIP: &str = "Chip";
const POLICY: &str = "Policy";
const LISTENING: &str = "Listening";
const RUNNING: &str = "Running";
const WATCHING: &str = "Watching";

/// The arguments of `format`.
#[derive(Args, Debug)]
pub struct FormatArgs {
    /// The chip.
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    #[arg(help = format!("Chip to format: {}", media::listed(media::lasts)))]
    pub chip: Place,
    #[command(flatten)]
    pub shape: Of<ShapeArgs>,
    /// Over-provisioning: physical / logical pages - 1, besides the blocks of the index log.
    #[arg(long, value_name = "SHARE", value_parser = values::share, help_heading = CHIP)]
    #[arg(default_value = values::USUAL_OVER_PROVISIONING)]
    pub over_provisioning: f64,
    /// Translation layer: page-mapped; demand-paged, whose map lies on the chip, for little memory; nftl, which is served with the policies nftl, slac, fsaf and combo; or
    /// in-place, a baseline that a power cut can cost a block of data.
    #[arg(long, value_name = "LAYER", value_parser = values::served_layer, help_heading = CHIP)]
    #[arg(default_value = "page-mapped")]
    pub layer: LayerKind,
    /// Allocate the disk space of the whole image now.
    #[arg(long, help_heading = CHIP)]
    pub preallocate: bool,
    /// Overwrite an existing chip or any other file. Its contents are lost.
    #[arg(long, help_heading = CHIP)]
    pub force: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Who decides what is cleaned and where pages go.
#[derive(Args, Debug)]
pub struct ServedPolicyArgs {
    /// Policy, with parameters in brackets: 'dac(regions=3)' (`thermocline policies` lists them). It may
    /// differ at each start [default: thermocline].
    #[arg(long, value_name = "NAME", help_heading = POLICY)]
    #[arg(value_parser = Suggest(values::presets), hide_possible_values = true)]
    pub policy: Option<String>,
    /// Victim policy, in place of the policy's own.
    #[arg(long, value_name = "NAME", help_heading = POLICY)]
    #[arg(value_parser = Suggest(values::victims), hide_possible_values = true)]
    pub victim: Option<String>,
    /// Placement, in place of the policy's own.
    #[arg(long, value_name = "NAME", help_heading = POLICY)]
    #[arg(value_parser = Suggest(values::placements), hide_possible_values = true)]
    pub placement: Option<String>,
    #[command(flatten)]
    pub cleaning: Of<CleaningArgs>,
    /// Unit of the ages that policies transform [default: 363 erase times of the device].
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = POLICY)]
    pub time_scale: Option<u64>,
    /// Seed of all random choices.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = POLICY)]
    pub seed: u64,
}

/// The arguments of `serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// The chips.
    #[arg(value_name = "[NAME=]IMAGE", required = true, value_parser = Exported::parse)]
    #[arg(value_hint = ValueHint::FilePath, help = served_help())]
    pub chips: Vec<Exported>,
    /// TOML file with these options, `chips = ["disk.img"]` and `unix = "disk.sock"`; those given here come
    /// before those in it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = RUNNING)]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub shape: Of<ShapeArgs>,
    /// Over-provisioning of a chip in memory: physical / logical pages - 1.
    #[arg(long, value_name = "SHARE", value_parser = values::share, help_heading = "Device")]
    #[arg(default_value = values::USUAL_OVER_PROVISIONING)]
    pub over_provisioning: f64,
    #[command(flatten)]
    pub policy: ServedPolicyArgs,
    /// Memory for changes of a map that lies on the chip (format --layer demand-paged); a chip in memory is
    /// made with such a map [default: 256KiB, more for a large chip].
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "Device")]
    pub map_cache: Option<u64>,
    /// Unix socket to listen on. Repeat for several.
    #[arg(long, value_name = "SOCK", value_hint = ValueHint::FilePath, help_heading = LISTENING)]
    pub unix: Vec<PathBuf>,
    /// TCP address to listen on, such as 127.0.0.1:10809 or localhost:10809. Repeat for several.
    #[arg(long, value_name = "ADDR", value_parser = values::address, help_heading = LISTENING)]
    pub tcp: Vec<String>,
    /// Maximum number of connections at a time.
    #[arg(long, value_name = "N", default_value_t = 1024, help_heading = LISTENING)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections: u32,
    /// Maximum number of TCP connections from one address.
    #[arg(long, value_name = "N", default_value_t = 768, help_heading = LISTENING)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections_per_address: u32,
    /// Memory for the large buffers of all connections together. Connections that get none of it are
    /// served with small ones.
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = LISTENING)]
    #[arg(default_value = "192MiB")]
    pub buffers: u64,
    /// Close a connection that takes none of its answers, or does not go on with a request, for so long.
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = LISTENING)]
    #[arg(default_value = "30s")]
    pub stall_timeout: u64,
    /// Close a connection that asks for nothing for so long [default: never].
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = LISTENING)]
    pub idle_timeout: Option<u64>,
    /// Permissions of the Unix sockets, in octal, such as 660 [default: by the umask].
    #[arg(long, value_name = "MODE", value_parser = values::mode, requires = "unix")]
    #[arg(help_heading = LISTENING)]
    pub unix_mode: Option<u32>,
    /// Owner of the Unix sockets: names or numbers.
    #[arg(long, value_name = "USER[:GROUP]", value_parser = values::owner, requires = "unix")]
    #[arg(help_heading = LISTENING)]
    pub unix_owner: Option<values::Owner>,
    /// Let TCP clients use an export, or all of them, only from these addresses. Repeat for several.
    #[arg(long, value_name = "[EXPORT=]ADDRESS/PREFIX", help_heading = LISTENING)]
    #[arg(value_parser = Rule::<Network>::parse)]
    pub allow: Vec<Rule<Network>>,
    /// The server's certificate chain (PEM); clients may then encrypt. TLS is in the build of `make build`.
    #[arg(long, value_name = "FILE", requires = "tls_key", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = LISTENING)]
    pub tls_cert: Option<PathBuf>,
    /// The server's private key (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = LISTENING)]
    pub tls_key: Option<PathBuf>,
    /// Certificates that may sign clients' certificates (PEM). Other clients, and those that do not encrypt, are
    /// refused.
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = LISTENING)]
    pub tls_clients: Option<PathBuf>,
    /// Revocation lists (CRLs, PEM) of all authorities that --tls-clients trusts, and of those between: clients
    /// whose certificate is on one, or on whose authority there is none, are refused. Read at the start.
    #[arg(long, value_name = "FILE", requires = "tls_clients", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = LISTENING)]
    pub tls_crl: Option<PathBuf>,
    /// Let only clients whose certificate has this name (a DNS name) use an export, or all of them.
    /// Repeat for several.
    #[arg(long, value_name = "[EXPORT=]NAME", requires = "tls_clients", help_heading = LISTENING)]
    #[arg(value_parser = Rule::<String>::parse)]
    pub tls_allow: Vec<Rule<String>>,
    /// Refuse clients that do not encrypt.
    #[arg(long, requires = "tls_cert", help_heading = LISTENING)]
    pub tls_required: bool,
    /// Region of an export, or of all, with data that clients write once and then read, such as
    /// sys=0..2GiB: kept in erase blocks of its own (read-only separation). Repeat for several.
    #[arg(long, value_name = "[EXPORT=]FROM..TO", help_heading = POLICY)]
    #[arg(value_parser = Rule::<values::Region>::parse)]
    pub separate: Vec<Rule<values::Region>>,
    /// Refuse writes.
    #[arg(long, short = 'r', help_heading = RUNNING)]
    pub read_only: bool,
    /// Bypass the system's cache of image files.
    #[arg(long, help_heading = RUNNING)]
    pub direct: bool,
    /// Delay operations as long as the device's profile says.
    #[arg(long, help_heading = RUNNING)]
    pub pace: bool,
    /// Rebuild the tables from the chip's out-of-band areas; ignore the checkpoint.
    #[arg(long, help_heading = RUNNING)]
    pub rebuild: bool,
    /// Read and verify all data in the background, once in that time [default: never].
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = RUNNING)]
    pub scrub: Option<u64>,
    /// Make chips fail, to test what holds, such as 'seed=1,flip=1e-6,program=1e-5,wear=3000'. The words are
    /// explained below.
    #[arg(long, value_name = "FAULTS", value_parser = values::faults, help_heading = RUNNING)]
    pub inject: Option<Faults>,
    /// Record every request as a native trace, for `run` and `compare`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = WATCHING)]
    pub record: Option<PathBuf>,
    /// Address for /metrics (Prometheus) and /healthz, such as 127.0.0.1:9808.
    #[arg(long, value_name = "ADDR", value_parser = values::address, help_heading = WATCHING)]
    pub metrics: Option<String>,
    /// Address for the dashboard, a page that shows the chip at work: on this machine only
    /// unless a host is named. It changes nothing and asks for no password.
    #[arg(long, value_name = "[HOST:]PORT", value_parser = values::own_address, help_heading = WATCHING)]
    pub dashboard: Option<String>,
    /// Log level (error, warn, info, debug), or a filter such as thermocline_server=debug.
    #[arg(long, value_name = "LEVEL", default_value = "info", help_heading = WATCHING)]
    #[arg(value_parser = values::log_filter)]
    pub log: String,
    /// Append the log to a file, in place of standard error.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = WATCHING)]
    pub log_file: Option<PathBuf>,
    /// Socket for `ctl`, `stat` and `backup` while serving, for the server's own user and root only; `none` for no
    /// such socket [default: for each image file one in a private folder, which `ctl` finds by the image].
    #[arg(long, value_name = "SOCK|none", value_hint = ValueHint::FilePath, help_heading = WATCHING)]
    pub control: Option<PathBuf>,
    /// Log JSON, one line per event.
    #[arg(long, help_heading = WATCHING)]
    pub log_json: bool,
    /// File for the process ID while serving. A file with the ID of a living process is refused.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = RUNNING)]
    pub pidfile: Option<PathBuf>,
    /// End when the parent process ends.
    #[arg(long, help_heading = RUNNING)]
    pub exit_with_parent: bool,
    /// Run a shell command once the server listens, with $uri and $unixsocket set; end with it, with its
    /// exit code (128 + the number of a signal that ended it).
    #[arg(long, value_name = "COMMAND", help_heading = RUNNING)]
    pub run: Option<String>,
}

/// A rule for an export, or for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule<T> {
    /// The export, where one was named.
    pub export: Option<String>,
    /// Whom it lets in.
    pub admits: T,
}

impl<T: FromStr<Err: Display>> Rule<T> {
    fn parse(text: &str) -> Result<Self, String> {
        let (export, admits) = match text.split_once('=') {
            Some((export, admits)) => (Some(export.to_owned()), admits),
            None => (None, text),
        };
        if admits.is_empty() {
            return Err("admits nobody; leave the option out to admit everybody".into());
        }
        Ok(Self { export, admits: admits.parse().map_err(|e: T::Err| e.to_string())? })
    }
}

fn served_help() -> String {
    format!(
        "Chips to serve: {}. --device and --capacity describe {}. The first is the default export. \
         Each is exported under its file's name, or under NAME",
        media::listed(|_| true),
        media::made_when_served()
    )
}

/// A chip and the name it is exported by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The name, where one was given.
    pub name: Option<String>,
    /// The chip.
    pub chip: Place,
}

impl Exported {
    fn parse(text: &str) -> Result<Self, String> {
        let place = |name: &str| name.parse().unwrap_or_else(|e: Infallible| match e {});
        // A path with an equals sign in it is a path.
        match text.split_once('=').filter(|(name, _)| !name.contains(['/', ':'])) {
            Some((name, chip)) if name.is_empty() || chip.is_empty() => Err(format!(
                "there is no {} the equals sign; write NAME=IMAGE, or ./{text} for a file of that name",
                if name.is_empty() { "name before" } else { "image behind" }
            )),
            Some((name, chip)) => Ok(Self { name: Some(name.into()), chip: place(chip) }),
            None => Ok(Self { name: None, chip: place(text) }),
        }
    }
}

/// The arguments of `check`, `repair` and `stat`.
#[derive(Args, Debug)]
pub struct ChipArgs {
    /// The chip.
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    #[arg(help = format!("The chip: {}", media::listed(media::lasts)))]
    pub chip: Place,
    /// Print JSON.
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
}

/// The arguments of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    #[command(flatten)]
    pub chip: ChipArgs,
    /// Read and verify all data (the default).
    #[arg(long)]
    pub data: bool,
    /// Check only the tables; do not read the data.
    #[arg(long, conflicts_with = "data")]
    pub tables_only: bool,
}

/// The arguments of `ctl`.
#[derive(Args, Debug)]
pub struct CtlArgs {
    /// An image that is served, or the control socket of its server.
    #[arg(value_name = "IMAGE|SOCKET", value_hint = ValueHint::FilePath)]
    pub target: Place,
    /// Export to speak of [default: that of the image; of a socket named by --control, the first].
    #[arg(long, value_name = "NAME")]
    pub export: Option<String>,
    /// Print JSON.
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
    /// What the server is to do.
    #[command(subcommand)]
    pub command: CtlCommand,
}

/// The arguments of `top`.
#[derive(Args, Debug)]
pub struct TopArgs {
    /// An image that is served, or the control socket of its server.
    #[arg(value_name = "IMAGE|SOCKET", value_hint = ValueHint::FilePath)]
    pub target: Place,
    /// Export to look at [default: that of the image; of a socket named by --control, the first].
    #[arg(long, value_name = "NAME")]
    pub export: Option<String>,
    /// Time between two looks.
    #[arg(long, value_name = "TIME", value_parser = values::time, default_value = "1s")]
    pub every: u64,
    /// Print one picture and end; so does an output that is no terminal.
    #[arg(long)]
    pub once: bool,
}

/// What a server can be asked to do.
#[derive(Subcommand, Debug)]
pub enum CtlCommand {
    /// Show the state of the chip, and what was done since it was mounted.
    Stat,
    /// Recount the tables and read all data, while clients go on.
    Check,
    /// Move data that have become hard to read, now.
    Scrub,
    /// Make all that was written last.
    Flush,
    /// Go on with another policy. Clients wait while the chip is unmounted and mounted again.
    Policy {
        /// Policy, as for `serve --policy` [default: the one of the start].
        #[arg(value_name = "NAME")]
        policy: Option<String>,
        /// Victim policy, in place of the policy's own.
        #[arg(long, value_name = "NAME", required_unless_present_any = ["policy", "placement"])]
        victim: Option<String>,
        /// Placement, in place of the policy's own.
        #[arg(long, value_name = "NAME")]
        placement: Option<String>,
    },
    /// Go on with other watermarks; what is not named stays. Clients wait as for `policy`.
    Watermarks {
        /// Free blocks of each bank kept for garbage collection.
        #[arg(long, value_name = "BLOCKS", required_unless_present_any = ["low", "high"])]
        reserve: Option<u32>,
        /// Garbage collection starts below this number of free blocks.
        #[arg(long, value_name = "BLOCKS")]
        low: Option<u32>,
        /// Garbage collection stops at this number of free blocks.
        #[arg(long, value_name = "BLOCKS")]
        high: Option<u32>,
    },
    /// Take no new connections, and stop when the last client has left.
    Drain,
    /// Stop in good order. Returns when the server has let go of its chips.
    Stop,
}

/// The arguments of `backup`.
#[derive(Args, Debug)]
pub struct BackupArgs {
    /// The chip, served or not; or the control socket of its server.
    #[arg(value_name = "IMAGE|SOCKET", value_hint = ValueHint::FilePath)]
    pub from: Place,
    /// The new image.
    #[arg(value_name = "DEST", value_hint = ValueHint::FilePath)]
    pub to: PathBuf,
    /// Leave out pages that cannot be read: they are zeros in the copy.
    #[arg(long)]
    pub skip_unreadable: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The arguments of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The chip, served or not; or the control socket of its server.
    #[arg(value_name = "IMAGE|SOCKET", value_hint = ValueHint::FilePath)]
    pub from: Place,
    /// The raw file, sparse; `-` for standard output.
    #[arg(value_name = "RAW", value_hint = ValueHint::FilePath)]
    pub to: PathBuf,
    /// Replace a file that is there, once the new one is complete.
    #[arg(long)]
    pub force: bool,
    /// Write the pages of a demand-paged chip itself, to program into the NAND of a device with thermocline-embedded:
    /// so many spare bytes behind each page, the layer's 16 from AT on, as in 64@4.
    #[arg(long, value_name = "SPARE@AT", conflicts_with = "skip_unreadable")]
    pub nand: Option<Spare>,
    /// Leave out pages that cannot be read: they are zeros in the copy.
    #[arg(long)]
    pub skip_unreadable: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The arguments of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The raw file or block device.
    #[arg(value_name = "RAW", value_hint = ValueHint::FilePath)]
    pub from: PathBuf,
    /// The new image. It exports as many bytes, rounded up to whole pages.
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub to: PathBuf,
    #[command(flatten)]
    pub shape: Of<ShapeArgs>,
    /// Over-provisioning: physical / logical pages - 1, besides the blocks of the index log.
    #[arg(long, value_name = "SHARE", value_parser = values::share, help_heading = CHIP)]
    #[arg(default_value = values::USUAL_OVER_PROVISIONING)]
    pub over_provisioning: f64,
    /// Translation layer, as for `format`.
    #[arg(long, value_name = "LAYER", value_parser = values::served_layer, help_heading = CHIP)]
    #[arg(default_value = "page-mapped")]
    pub layer: LayerKind,
    /// RAW is a dump of the NAND of a device with thermocline-embedded, of --page-size and --block-size: so many spare bytes
    /// behind each page, the layer's 16 from AT on, as in 64@4. The image is that chip (demand-paged).
    #[arg(long, value_name = "SPARE@AT", help_heading = CHIP)]
    pub nand: Option<Spare>,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The arguments of `grow`.
#[derive(Args, Debug)]
pub struct GrowArgs {
    /// The image, which nobody serves.
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub chip: Place,
    /// Bytes of the whole chip, as for `format`.
    #[arg(long, visible_alias = "size", value_name = "SIZE", value_parser = values::size)]
    pub capacity: u64,
    /// Over-provisioning: physical / logical pages - 1 [default: as it is].
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub over_provisioning: Option<f64>,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The arguments of `dump`.
#[derive(Args, Debug)]
pub struct DumpArgs {
    #[command(flatten)]
    pub chip: ChipArgs,
    /// Part of the chip to show.
    #[command(subcommand)]
    pub what: DumpWhat,
}

/// What `dump` shows.
#[derive(Subcommand, Debug)]
pub enum DumpWhat {
    /// The chip as a device profile for `run --device`, with the options that simulate the server.
    Device,
    /// The records of the index log, in order.
    Index,
    /// A block: its erase count, and each page's out-of-band area.
    Block {
        /// Erase block.
        block: u32,
    },
    /// A page's bytes, and its out-of-band area.
    Page {
        /// Erase block.
        block: u32,
        /// Page of the block, counting header pages.
        page: u32,
    },
    /// Physical places of logical pages.
    Map {
        /// First logical page.
        #[arg(default_value_t = 0)]
        first: u32,
        /// Number of logical pages.
        #[arg(default_value_t = 16)]
        count: u32,
    },
}

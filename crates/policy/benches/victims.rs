//! Time of choosing a victim, by policy and number of blocks.
//!
//! `cargo bench --package thermocline-policy --bench victims -- [BLOCKS ...] [PRESET ...]
//! [warm=OVERWRITES] [hot] [kept] [FILE.csv] [FILE.svg]`
//!
//! A minimal log calls the policies like the translation layer: uniform page writes, blocks of 16
//! pages, a seventh of them spare. With `hot`, nine of ten writes go to a tenth of the pages. The
//! device is filled and half of it overwritten (`warm=2`: all of it twice). Then a thousand
//! stretches of a hundred choices are timed, including the reading of the clock (about 40 ns). The
//! median stretch counts, because other work on the machine affects few stretches. The content of
//! the caches matters: choices on a large device take longer by their cache misses, even if they
//! visit no more blocks.
//!
//! Each measurement is appended to `FILE.csv` at once, and measurements already in it are not
//! repeated, so an interrupted run can be continued. With `kept` nothing is measured: the table and
//! the chart show the existing results. The last column is a digest of all victims, which is equal
//! for two builds with the same choices.
//!
//! Memory: 350 bytes a block. A device of ten million blocks takes up to 3.5 GB, and one to three
//! minutes a preset.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    process::ExitCode,
    time::{Duration, Instant},
};

use thermocline_chart::{Kind, Legend, Plot, Point, Series, draw};
use thermocline_flash::{BlockId, Lpn};
use thermocline_policy::{
    Args, BlockTable, Context,
    placement::{self, Answer, Cleaning, PageState, Place, Placement, Survivors, Visitor, Write},
    preset::{self, LayerKind, PRESETS, Preset},
    victim::{self, Victim},
};
use thermocline_testing::Draws;

const PAGES: u32 = 16;
/// Choices in a stretch, and number of stretches.
const CHOICES: u32 = 100;
const STRETCHES: usize = 1_000;
/// Maximum number of blocks, so that pages have 32-bit numbers.
const MOST_BLOCKS: u32 = u32::MAX / PAGES;
const NOWHERE: u32 = u32::MAX;

/// A log without failures.
struct Log<P: Placement> {
    table: BlockTable,
    victim: Box<dyn Victim>,
    placement: P,
    batch: u32,
    place: Vec<u32>,
    owner: Vec<u32>,
    /// The placement's state of each page, by logical page.
    pages: Vec<P::Page>,
    free: VecDeque<BlockId>,
    /// The next page of each stream; [`NOWHERE`] if no block is open.
    open: Vec<u32>,
    mapped: u32,
    /// Choices since the start of the stretch, and their time.
    choices: u32,
    spent: Duration,
    /// A digest of all victims.
    digest: u64,
}

impl<P: Placement> Log<P> {
    /// Performs a host write.
    fn write(&mut self, lpn: Lpn, now: u64) {
        let old = self.place[lpn.index()];
        let page = self.pages[lpn.index()];
        let place = self.whereabouts(old);
        let stream = self.placement.host(page, &Write { lpn, now, old: || place });
        self.make_room(now);
        // Cleaning may have moved the page.
        let old = self.place[lpn.index()];
        let at = self.program(lpn, stream, now);
        if old == NOWHERE {
            self.mapped += 1;
        } else {
            self.table.invalidate(BlockId(old / PAGES), now);
        }
        self.table.wrote(BlockId(at / PAGES), now);
        self.placement.written(&mut self.pages[lpn.index()], lpn, now);
        if self.victim.watches() {
            self.victim.watch(&[lpn]);
        }
        self.close_if_full(stream);
    }

    fn whereabouts(&self, page: u32) -> Option<Place> {
        if page == NOWHERE {
            return None;
        }
        let stream = self.table.block(BlockId(page / PAGES)).stream;
        let next = self.open[usize::from(stream)];
        let next = if next == NOWHERE { PAGES } else { next % PAGES };
        Some(Place { bank: 0, block: BlockId(page / PAGES), stream, page: page % PAGES, next })
    }

    /// Programs a logical page at the next page of a stream.
    fn program(&mut self, lpn: Lpn, stream: u8, now: u64) -> u32 {
        let next = &mut self.open[usize::from(stream)];
        if *next == NOWHERE {
            let block = self.free.pop_front().expect("room was made");
            self.table.open(block, stream, now);
            self.placement.opened(0, block, stream, now);
            *next = block.0 * PAGES;
        }
        let at = *next;
        self.owner[at as usize] = lpn.0;
        self.place[lpn.index()] = at;
        at
    }

    fn close_if_full(&mut self, stream: u8) {
        let next = &mut self.open[usize::from(stream)];
        *next += 1;
        if next.is_multiple_of(PAGES) {
            let block = BlockId(*next / PAGES - 1);
            *next = NOWHERE;
            let entry = self.placement.closing(0, block, stream);
            self.table.close(block, &*self.victim, entry);
        }
    }

    /// Cleans until every stream can open a block.
    fn make_room(&mut self, now: u64) {
        let reserve = self.open.len() + self.batch as usize + 1;
        while self.free.len() < reserve {
            let mut survivors = Vec::new();
            let mut victims = Vec::new();
            for _ in 0..self.batch {
                let start = Instant::now();
                let chosen = self.choose(now);
                self.spent += start.elapsed();
                self.choices += 1;
                let Some(block) = chosen else { break };
                self.digest = (self.digest ^ u64::from(block.0)).wrapping_mul(0x0100_0000_01b3);
                self.victim.answered(true);
                self.begin(block, &mut survivors, now);
                if self.batch > 1 {
                    self.table.set_aside(block);
                }
                victims.push(block);
            }
            let mut words: Vec<u64> = Vec::new();
            if P::Page::KEPT.is_any() {
                words.extend(survivors.iter().map(|lpn| self.pages[lpn.index()].word()));
            }
            let mut streams = vec![0; survivors.len()];
            let mut asked = Survivors::new(&mut survivors, &mut words, &mut streams, now);
            let answer = self.placement.survivors(&mut asked);
            if let Answer::Together(stream) = answer {
                streams.fill(stream);
            }
            for (i, lpn) in survivors.into_iter().enumerate() {
                let page = &mut self.pages[lpn.index()];
                let stream = if answer != Answer::OneByOne {
                    *page = P::Page::from_word(words.get(i).copied().unwrap_or(0));
                    streams[i]
                } else {
                    self.placement.survivor(page, lpn, now)
                };
                let from = BlockId(self.place[lpn.index()] / PAGES);
                let at = self.program(lpn, stream, now);
                self.table.copied(BlockId(at / PAGES), 1, self.table.stamp(from), now);
                self.close_if_full(stream);
            }
            for block in victims {
                self.table.withdraw(block);
                self.table.erased(block);
                self.free.push_back(block);
            }
        }
    }

    /// A separate function, so that profilers show it.
    #[inline(never)]
    fn choose(&mut self, now: u64) -> Option<BlockId> {
        self.table.choose(0, &mut self.placement, &mut *self.victim, now)
    }

    fn begin(&mut self, block: BlockId, survivors: &mut Vec<Lpn>, now: u64) {
        let info = self.table.block(block);
        self.placement.cleaning(&Cleaning {
            bank: 0,
            block,
            valid: info.valid,
            pages: PAGES,
            stream: info.stream,
            mapped: self.mapped,
            capacity: self.place.len() as u32,
            now,
        });
        let pages = block.0 * PAGES..(block.0 + 1) * PAGES;
        let owners = pages.map(|page| (page, self.owner[page as usize]));
        survivors.extend(
            owners.filter(|&(page, lpn)| self.place[lpn as usize] == page).map(|(_, lpn)| Lpn(lpn)),
        );
    }
}

/// A measurement.
#[derive(Clone, Debug)]
struct Measured {
    preset: String,
    blocks: u32,
    /// Nanoseconds per choice.
    ns: f64,
    digest: u64,
}

/// The pages that the host overwrites.
struct Host {
    draws: Draws,
    logical: u32,
    /// Whether most writes go to few pages.
    is_hot: bool,
}

impl Host {
    fn next(&mut self) -> Lpn {
        let is_hot = self.is_hot && self.draws.index(10) > 0;
        let pages = if is_hot { self.logical / 10 } else { self.logical };
        // Hot pages are scattered among the others.
        let page = self.draws.index(pages as usize) as u32;
        Lpn(if is_hot { page * 10 } else { page })
    }
}

/// Measures a preset on a device.
struct Measure<'a> {
    preset: &'a Preset,
    victim: Box<dyn Victim>,
    context: Context,
    /// How often the device is overwritten before the measurement.
    warm: f64,
    is_hot: bool,
}

impl Visitor for Measure<'_> {
    type Output = Measured;

    fn visit<P: Placement>(self, placement: P) -> Measured {
        let Self { preset, victim, context, warm, is_hot } = self;
        let Context { logical_pages: logical, blocks, .. } = context;
        let mut log = Log {
            table: BlockTable::new(blocks, PAGES, &*victim),
            victim,
            batch: preset.batch,
            place: vec![NOWHERE; logical as usize],
            owner: vec![0; (blocks * PAGES) as usize],
            pages: vec![P::Page::default(); logical as usize],
            free: (0..blocks).map(BlockId).collect(),
            open: vec![NOWHERE; usize::from(placement.streams())],
            placement,
            mapped: 0,
            choices: 0,
            spent: Duration::ZERO,
            digest: 0xcbf2_9ce4_8422_2325,
        };
        let mut host = Host { draws: Draws(7), logical, is_hot };
        let overwrites = (f64::from(logical) * warm) as u64;
        let mut now = 0;
        for _ in 0..logical {
            log.write(Lpn(now as u32), now);
            now += 1;
        }
        for _ in 0..overwrites {
            log.write(host.next(), now);
            now += 1;
        }
        let mut stretches = [0.0; STRETCHES];
        for ns in &mut stretches {
            (log.choices, log.spent) = (0, Duration::ZERO);
            while log.choices < CHOICES {
                log.write(host.next(), now);
                now += 1;
            }
            *ns = log.spent.as_nanos() as f64 / f64::from(log.choices);
        }
        stretches.sort_unstable_by(f64::total_cmp);
        let ns = (stretches[(STRETCHES - 1) / 2] + stretches[STRETCHES / 2]) / 2.0;
        Measured { preset: preset.name.to_owned(), blocks, ns, digest: log.digest }
    }
}

/// A policy's name and its arguments.
fn call(words: &str) -> (&str, Args) {
    let (name, args) = words.trim_end_matches(')').split_once('(').unwrap_or((words, ""));
    let args = args.split(',').filter_map(|arg| arg.split_once('='));
    (name, Args(args.map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned())).collect()))
}

fn measure(preset: &Preset, blocks: u32, task: &Task) -> Measured {
    let logical = blocks * PAGES / 7 * 6;
    let context = Context {
        logical_pages: logical,
        blocks,
        pages_per_block: PAGES,
        time_scale: f64::from(logical) / 3.0,
        ..Context::smallest()
    };
    let (name, args) = call(preset.victim);
    let entry = victim::find(name).expect("presets name registered victims");
    let victim = (entry.build)(&args, &context).expect("presets have arguments that are right");
    let (name, args) = call(preset.placement);
    let &Task { warm, is_hot, .. } = task;
    let visitor = Measure { preset, victim, context: context.clone(), warm, is_hot };
    placement::dispatch(name, &args, &context, visitor)
        .expect("presets name registered placements")
        .expect("presets have arguments that are right")
}

/// The command line.
struct Task {
    sizes: Vec<u32>,
    presets: Vec<&'static Preset>,
    warm: f64,
    is_hot: bool,
    /// Whether to skip measurements.
    is_kept: bool,
    csv: Option<String>,
    svg: Option<String>,
}

impl Task {
    fn read(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut sizes, mut presets) = (Vec::new(), Vec::new());
        let (mut warm, mut is_hot, mut is_kept, mut csv, mut svg) = (0.5, false, false, None, None);
        for arg in args {
            if let Some(overwrites) = arg.strip_prefix("warm=") {
                let number = overwrites.parse().ok().filter(|warm| (0.5..=100.0).contains(warm));
                warm = number.ok_or(format!("{arg}: a number from 0.5 to 100 is expected"))?;
            } else if let Ok(blocks) = arg.parse() {
                if !(1_000..=MOST_BLOCKS).contains(&blocks) {
                    return Err(format!("{arg}: 1000 to {MOST_BLOCKS} blocks are expected"));
                }
                sizes.push(blocks);
            } else if let Some(preset) = preset::find(&arg).filter(|preset| is_measured(preset)) {
                presets.push(preset);
            } else if arg == "hot" {
                is_hot = true;
            } else if arg == "kept" {
                is_kept = true;
            } else if arg.ends_with(".csv") {
                csv = Some(arg);
            } else if arg.ends_with(".svg") {
                svg = Some(arg);
            } else {
                return Err(format!(
                    "{arg}: a number of blocks, a preset of the page-mapped layer without \
                     foresight, warm=OVERWRITES, hot, kept, FILE.csv or FILE.svg is expected"
                ));
            }
        }
        if sizes.is_empty() {
            sizes = vec![1_000, 10_000, 100_000, 1_000_000];
        }
        if presets.is_empty() {
            presets = PRESETS.iter().filter(|preset| is_measured(preset)).collect();
        }
        Ok(Self { sizes, presets, warm, is_hot, is_kept, csv, svg })
    }
}

fn is_measured(preset: &Preset) -> bool {
    preset.layer == LayerKind::PageMapped && call(preset.placement).0 != "oracle"
}

/// The measurements of earlier runs.
fn earlier(path: &str) -> Result<Vec<Measured>, String> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|error| format!("{path}: {error}"))?,
    };
    let line = |(n, line): (usize, &str)| {
        measured(line).ok_or_else(|| {
            let n = n + 1;
            format!(
                "{path}, line {n}: preset, blocks, nanoseconds and digest are expected; remove it"
            )
        })
    };
    text.lines().enumerate().map(line).collect()
}

fn measured(line: &str) -> Option<Measured> {
    let columns: Vec<&str> = line.split(',').collect();
    let [preset, blocks, ns, digest] = columns[..] else { return None };
    Some(Measured {
        preset: preset.to_owned(),
        blocks: blocks.parse().ok()?,
        ns: ns.parse().ok()?,
        digest: u64::from_str_radix(digest, 16).ok()?,
    })
}

/// Measures what is missing, stores it, and prints the table.
fn run(task: &Task) -> Result<(), String> {
    let mut known = task.csv.as_deref().map_or(Ok(Vec::new()), earlier)?;
    let columns = task.sizes.iter().fold(String::new(), |mut columns, blocks| {
        let _ = write!(columns, " {blocks} blocks |");
        columns
    });
    println!("| ns a choice |{columns}\n|---|{}", "---|".repeat(task.sizes.len()));
    let mut series = Vec::new();
    for preset in &task.presets {
        print!("| {} |", preset.name);
        let mut points = Vec::new();
        for &blocks in &task.sizes {
            let before = known.iter().find(|m| m.preset == preset.name && m.blocks == blocks);
            let measured = match before {
                Some(measured) => measured.clone(),
                None if task.is_kept => {
                    print!(" |");
                    continue;
                }
                None => {
                    let measured = measure(preset, blocks, task);
                    if let Some(path) = &task.csv {
                        keep(path, &measured).map_err(|error| format!("{path}: {error}"))?;
                    }
                    known.push(measured.clone());
                    measured
                }
            };
            print!(" {:.0} |", measured.ns);
            io::stdout().flush().map_err(|error| format!("standard output: {error}"))?;
            points.push(Point::at(f64::from(blocks), measured.ns));
        }
        println!();
        series.push(Series::new(preset.name, points));
    }
    if let Some(path) = &task.svg {
        let mut plot = Plot::new(Kind::Lines, "blocks", "ns to choose a victim", series);
        (plot.x_log, plot.y_log) = (true, true);
        let drawing = draw(&plot, Legend::Drawn)?;
        fs::write(path, drawing.svg).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

/// Appends a measurement to a file.
fn keep(path: &str, Measured { preset, blocks, ns, digest }: &Measured) -> io::Result<()> {
    let mut file = fs::File::options().create(true).append(true).open(path)?;
    writeln!(file, "{preset},{blocks},{ns:.1},{digest:016x}")
}

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    match Task::read(args).and_then(|task| run(&task)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("victims: {error}");
            ExitCode::FAILURE
        }
    }
}

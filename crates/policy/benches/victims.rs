//! What choosing a victim takes, by policy and number of blocks.
//!
//! `cargo bench --package thermocline-policy --bench victims -- [BLOCKS ...] [PRESET ...] [FILE.svg]`
//!
//! A log in its simplest form asks the policies as the translation layer does: uniform page writes, blocks of 16
//! pages, a seventh of them spare. After two overwrites the choices of a quarter more are timed, a hundred thousand
//! at most, with the reading of the clock (some 40 ns). What the caches hold by then counts: the choices of a large
//! device take longer by the misses on their way, were they to look at nothing more.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use thermocline_chart::{Kind, Legend, Plot, Point, Series, draw};
use thermocline_flash::{BlockId, Lpn};
use thermocline_policy::{
    Args, BlockTable, Context,
    placement::{self, Cleaning, Place, Placement, Visitor},
    preset::{self, LayerKind, PRESETS, Preset},
    victim::{self, Victim},
};
use thermocline_testing::Draws;

const PAGES: u32 = 16;
/// Choices at most that are timed.
const CHOICES: u32 = 100_000;
const NOWHERE: u32 = u32::MAX;

/// A log on which nothing fails.
struct Log<P> {
    table: BlockTable,
    victim: Box<dyn Victim>,
    placement: P,
    batch: u32,
    place: Vec<u32>,
    owner: Vec<u32>,
    /// What the placement has kept of each page, by logical page.
    words: Vec<u64>,
    free: VecDeque<BlockId>,
    /// The next page of each stream, [`NOWHERE`] where no block is open.
    open: Vec<u32>,
    mapped: u32,
    choices: u32,
    spent: Duration,
}

impl<P: Placement> Log<P> {
    /// The host writes a page.
    fn write(&mut self, lpn: Lpn, now: u64) {
        let old = self.place[lpn.index()];
        let word = self.words[lpn.index()];
        let stream = self.placement.host_word(lpn, word, self.whereabouts(old), now);
        self.make_room(now);
        // Cleaning may have moved it.
        let old = self.place[lpn.index()];
        let at = self.program(lpn, stream, now);
        if old == NOWHERE {
            self.mapped += 1;
        } else {
            self.table.invalidate(BlockId(old / PAGES), now);
        }
        self.table.wrote(BlockId(at / PAGES), now);
        let word = self.words[lpn.index()];
        self.words[lpn.index()] = self.placement.written_word(lpn, word, now);
        if self.victim.watches() {
            self.victim.watch(&[lpn]);
        }
        let _ = self.placement.cooled();
        self.close_if_full(stream);
    }

    fn whereabouts(&self, page: u32) -> Option<Place> {
        if page == NOWHERE || !self.placement.locates() {
            return None;
        }
        let stream = self.table.block(BlockId(page / PAGES)).stream;
        let next = self.open[usize::from(stream)];
        let next = if next == NOWHERE { PAGES } else { next % PAGES };
        Some(Place { bank: 0, block: BlockId(page / PAGES), stream, page: page % PAGES, next })
    }

    /// The next page of a stream takes a logical page.
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

    fn words_of(&self, lpns: &[Lpn]) -> Vec<u64> {
        lpns.iter().map(|lpn| self.words[lpn.index()]).collect()
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
                self.victim.answered(true);
                self.begin(block, &mut survivors, now);
                if self.batch > 1 {
                    self.table.set_aside(block);
                }
                victims.push(block);
            }
            if self.placement.sorts() {
                let mut words: Vec<u64> = self.words_of(&survivors);
                self.placement.order_words(&mut survivors, &mut words, now);
            }
            let common = self.placement.common_stream();
            if common.is_some() {
                let mut words = self.words_of(&survivors);
                self.placement.moving(&survivors, &mut words, now);
                for (&lpn, word) in survivors.iter().zip(words) {
                    self.words[lpn.index()] = word;
                }
            }
            for lpn in survivors {
                let word = &mut self.words[lpn.index()];
                let stream = common.unwrap_or_else(|| self.placement.survivor_word(lpn, word, now));
                let from = BlockId(self.place[lpn.index()] / PAGES);
                let at = self.program(lpn, stream, now);
                self.table.copied(BlockId(at / PAGES), 1, from, now);
                self.close_if_full(stream);
            }
            for block in victims {
                self.table.withdraw(block);
                self.table.erased(block);
                self.free.push_back(block);
            }
        }
    }

    /// On its own, so that profilers see it.
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

/// Measures a preset on a device.
struct Measure<'a> {
    preset: &'a Preset,
    victim: Box<dyn Victim>,
    context: Context,
}

impl Visitor for Measure<'_> {
    type Output = f64;

    fn visit<P: Placement>(self, placement: P) -> f64 {
        let Self { preset, victim, context: Context { logical_pages: logical, blocks, .. } } = self;
        let mut log = Log {
            table: BlockTable::new(blocks, PAGES, &*victim),
            victim,
            batch: preset.batch,
            place: vec![NOWHERE; logical as usize],
            owner: vec![0; (blocks * PAGES) as usize],
            words: vec![0; (blocks * PAGES) as usize],
            free: (0..blocks).map(BlockId).collect(),
            open: vec![NOWHERE; usize::from(placement.streams())],
            placement,
            mapped: 0,
            choices: 0,
            spent: Duration::ZERO,
        };
        let mut draws = Draws(7);
        let warm = u64::from(logical) * 3;
        for now in 0..warm + u64::from(logical) / 4 {
            if now == warm {
                (log.choices, log.spent) = (0, Duration::ZERO);
            }
            if now > warm && log.choices >= CHOICES {
                break;
            }
            let fills = now < u64::from(logical);
            let lpn = if fills { now as usize } else { draws.index(logical as usize) };
            log.write(Lpn(lpn as u32), now);
        }
        log.spent.as_nanos() as f64 / f64::from(log.choices.max(1))
    }
}

/// A policy's name without its arguments, and these.
fn call(words: &str) -> (&str, Args) {
    let (name, args) = words.trim_end_matches(')').split_once('(').unwrap_or((words, ""));
    let args = args.split(',').filter_map(|arg| arg.split_once('='));
    (name, Args(args.map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned())).collect()))
}

/// Nanoseconds a choice.
fn measure(preset: &Preset, blocks: u32) -> f64 {
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
    let visitor = Measure { preset, victim, context: context.clone() };
    placement::dispatch(name, &args, &context, visitor)
        .expect("presets name registered placements")
        .expect("presets have arguments that are right")
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let mut sizes: Vec<u32> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![1_000, 10_000, 100_000, 1_000_000];
    }
    let mut presets: Vec<&Preset> = args.iter().filter_map(|arg| preset::find(arg)).collect();
    if presets.is_empty() {
        let (log, foreseen) = (LayerKind::PageMapped, |p: &Preset| call(p.placement).0 == "oracle");
        presets = PRESETS.iter().filter(|p| p.layer == log && !foreseen(p)).collect();
    }
    let columns: Vec<String> = sizes.iter().map(|blocks| format!(" {blocks} blocks |")).collect();
    println!("| ns a choice |{}\n|---|{}", columns.concat(), "---|".repeat(sizes.len()));
    let mut series = Vec::new();
    for preset in presets {
        print!("| {} |", preset.name);
        let mut points = Vec::new();
        for &blocks in &sizes {
            let ns = measure(preset, blocks);
            print!(" {ns:.0} |");
            points.push(Point::at(f64::from(blocks), ns));
        }
        println!();
        series.push(Series::new(preset.name, points));
    }
    if let Some(path) = args.iter().find(|arg| arg.ends_with(".svg")) {
        let mut plot = Plot::new(Kind::Lines, "blocks", "ns to choose a victim", series);
        (plot.x_log, plot.y_log) = (true, true);
        let drawing = draw(&plot, Legend::Drawn).expect("a plot of numbers can be drawn");
        std::fs::write(path, drawing.svg).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}

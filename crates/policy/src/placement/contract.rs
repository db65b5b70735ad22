//! The contract of placements: a placement decides where pages go and changes only its own state.
//!
//! A placement has two halves. [`Placement`] concerns pages and is compiled into the layer's loop.
//! [`Streams`] concerns streams and blocks, is called once a block or less, and can be a trait
//! object. A method that is left out does nothing and costs nothing.
//!
//! # Pages
//!
//! `Page` is the state that the layer keeps of each page for the placement. It is stored beside the
//! reverse map, in physical order, as a chip would keep it in the out-of-band area, and moves with
//! the page. So the states of a victim's pages are adjacent. A page without data has the default.
//! State that exceeds 64 bits, or must not move, is a table in the placement, with a `prefetch`.
//!
//! | method | called when, and for what |
//! |---|---|
//! | `host` | the stream of a page that the host is about to write, before any garbage collection for it |
//! | `survivor` | the stream of a page that is copied |
//! | `host_stream` | the stream of all host writes, if `host` always returns the same one: pages are then written in runs |
//! | `survivors` | the streams of all survivors of a victim, or one for all. By default it asks `survivor` about each, before any is moved |
//! | `filled` | a page was written before the run |
//! | `written` | the page is being written; its block was allocated |
//! | `trimmed` | the page no longer holds data |
//! | `spilt` | the survivor asked about last went to another stream, because there was no free block |
//! | `last_written` | the time of a survivor's last host write, where blocks' ages count from the youngest data |
//! | `save` | sixteen bits to store beside a page that is being programmed |
//! | `restore` | a page was found when the tables were rebuilt: its block's stream, the saved bits, the time of its program |
//! | `prefetch` | a page will be asked about soon: prefetch the cache line of its row in a table |
//!
//! # Streams and blocks
//!
//! | method | called when, and for what |
//! |---|---|
//! | `streams` | once; depends on parameters and the device, not on traffic. The fill goes to stream 0 |
//! | `is_used` | whether a stream is in use now; the layer closes the open block of an unused one when it makes room for the host |
//! | `is_hot_stream` | whether a stream's pages are hotter than most, for dynamic banks |
//! | `traits` | what it does at each garbage collection in addition to choosing streams; constant |
//! | `report` | what `stat` and results show in addition to counts: names and values |
//! | `opened` | a free block was opened for a stream |
//! | `closing` | an open block is full: how it enters the victim index ([`Entry`]) |
//! | `cleaning` | this block is about to be collected, with its properties |
//! | `own_victims` | its own cleaning order ([`OwnVictims`]) |
//! | `hot_pages` | which pages are hot now, if it knows ([`HotPages`]) |
//! | `ahead` | the receiver of upcoming host writes and their placement hints ([`Ahead`]) |
//!
//! [`Registered::SEES_FUTURE`] says whether it needs `Context::future`, and
//! [`Registered::reads_hints`] whether it reads placement hints.
//!
//! # Its own victims
//!
//! Some schemes clean by their own queues, such as first in, first out within a group.
//! [`OwnVictims::choose`] returns a [`Choice`]. The layer carries it out and asks again until the
//! choice is a block, or the victim policy's. Such a placement has a log for each stream
//! ([logs](super::logs)) or [queues](super::queues): `closing` puts a block into one, `cleaning`
//! takes it out, `replaced` exchanges two.
//!
//! * The victim policy's index holds the blocks as well. [`Entry::Aside`] keeps a block out of it,
//!   `Choice::Readmit` returns it.
//! * A choice must have garbage (`BlockView::has_garbage`, which counts blocks set aside;
//!   `is_candidate` does not). The layer refuses it where the survivors have no room. Only
//!   `cleaning` confirms that a block leaves, so `choose` does not take it out of a queue.
//! * Without an answer a device stops although a block has garbage. So end `choose` with
//!   `Choice::Victim`, and return a block set aside from `fallback`.
//! * Read-only data have a stream beyond the placement's own. They need a queue too, or stay in the
//!   index.
//! * Every bank asks separately, so queues are by bank.

use alloc::{string::String, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use super::survivors::{Answer, Survivors};
use crate::{Args, BlockView, Context, ParamError, PolicyInfo};

/// Location of the current copy of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The bank.
    pub bank: u32,
    /// The block.
    pub block: BlockId,
    /// The stream for which the block was opened.
    pub stream: u8,
    /// The data page in the block, counted from 0.
    pub page: u32,
    /// The next data page to be programmed in the stream's open block, or the number of pages in a
    /// block if that block is full.
    pub next: u32,
}

/// A page that the host is about to write.
pub trait HostWrite {
    /// The page.
    fn lpn(&self) -> Lpn;

    /// Time of the write.
    fn now(&self) -> u64;

    /// Location of the current copy, even if it is inferred to be garbage; `None` if the page holds
    /// no data. Looked up on demand.
    fn old(&self) -> Option<Place>;
}

/// A host write, as the argument for a placement.
#[derive(Clone, Copy, Debug)]
pub struct Write<F> {
    /// The page.
    pub lpn: Lpn,
    /// Time of the write.
    pub now: u64,
    /// Looks up the location of the current copy.
    pub old: F,
}

impl<F: Fn() -> Option<Place>> HostWrite for Write<F> {
    #[inline(always)]
    fn lpn(&self) -> Lpn {
        self.lpn
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        self.now
    }

    #[inline(always)]
    fn old(&self) -> Option<Place> {
        (self.old)()
    }
}

/// A page found on the chip when the tables are rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The page.
    pub lpn: Lpn,
    /// The stream of its block. Another placement may have chosen it, so it may exceed the streams
    /// of this one.
    pub stream: u8,
    /// The note [saved](Placement::save) beside the page.
    pub note: u16,
    /// Time of its program.
    pub time: u64,
}

/// The block being cleaned.
#[derive(Clone, Copy, Debug)]
pub struct Cleaning {
    /// The bank.
    pub bank: u32,
    /// The block.
    pub block: BlockId,
    /// Its valid pages.
    pub valid: u32,
    /// Data pages in a block.
    pub pages: u32,
    /// The stream for which the block was opened.
    pub stream: u8,
    /// Logical pages that hold data, on the whole device, without those inferred to be garbage.
    pub mapped: u32,
    /// Logical pages that the device exports.
    pub capacity: u32,
    /// Time of the cleaning.
    pub now: u64,
}

/// How a full block enters the victim index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Entry {
    /// By the victim policy's cost.
    Indexed,
    /// Not at all. The placement chooses the block itself.
    Aside,
    /// With this factor of wear, for victim policies that [take
    /// one](crate::victim::Factor::Placement). For others the same as
    /// [`Indexed`](Entry::Indexed).
    Weighed(f64),
}

/// What the layer does next when a block is to be cleaned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// Cleans this block.
    Clean(BlockId),
    /// Cleans the victim policy's choice.
    Victim,
    /// Adds a block that was set aside to the index, then asks again.
    Readmit(BlockId),
    /// Sets the factor of wear of a full block, as by [`Entry::Weighed`], then asks again.
    Weigh(BlockId, f64),
}

/// How the layer stores per-page state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// No state.
    Nothing,
    /// 8 bits.
    Byte,
    /// 32 bits.
    HalfWord,
    /// 64 bits.
    Word,
    /// 32 bits while the state of all pages fits, then 64.
    Growing,
}

impl Kept {
    /// Whether there is any state.
    #[inline(always)]
    #[must_use]
    pub const fn is_any(self) -> bool {
        !matches!(self, Self::Nothing)
    }
}

/// The state that the layer keeps of each page for a placement. Pages without data have the
/// default, whose word is 0.
pub trait PageState: Copy + Default + Send + 'static {
    /// How the state is stored.
    const KEPT: Kept;

    /// Whether the state of the superseded copy affects a host write. If not, the layer may pass
    /// the default instead.
    const RECALLED: bool = true;

    /// Decodes the stored word.
    fn from_word(word: u64) -> Self;

    /// Encodes the state as a word, which fits [`KEPT`](Self::KEPT).
    fn word(self) -> u64;
}

impl PageState for () {
    const KEPT: Kept = Kept::Nothing;

    #[inline(always)]
    fn from_word(_: u64) -> Self {}

    #[inline(always)]
    fn word(self) -> u64 {
        0
    }
}

macro_rules! numbers {
    ($($number:ty: $kept:ident),*) => {$(
        impl PageState for $number {
            const KEPT: Kept = Kept::$kept;

            #[inline(always)]
            fn from_word(word: u64) -> Self {
                word as Self
            }

            #[inline(always)]
            fn word(self) -> u64 {
                self.into()
            }
        }
    )*};
}

numbers!(u8: Byte, u32: HalfWord, u64: Word);

/// Implements [`PageState`] for a type that wraps its word. The state of superseded copies is
/// recalled unless `false` follows.
macro_rules! in_a_word {
    ($state:ty: $kept:ident $(, $recalled:literal)?) => {
        impl $crate::placement::PageState for $state {
            const KEPT: $crate::placement::Kept = $crate::placement::Kept::$kept;
            $(const RECALLED: bool = $recalled;)?

            #[inline(always)]
            fn from_word(word: u64) -> Self {
                Self(word)
            }

            #[inline(always)]
            fn word(self) -> u64 {
                self.0
            }
        }
    };
}
pub(super) use in_a_word;

/// A 64-bit number that is stored in 32 bits while those of all pages fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growing(pub u64);

in_a_word!(Growing: Growing);

/// What a placement does at each garbage collection in addition to choosing streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// It sorts survivors, so the layer may gather those of several victims first.
    pub sorts: bool,
    /// It recomputes something over all pages, which costs processor time in the papers.
    pub scans: bool,
}

/// The half of a placement that concerns streams and blocks.
pub trait Streams: Send + 'static {
    /// Number of streams for writable data. Each has an open block in every bank. The fill goes to
    /// stream 0.
    fn streams(&self) -> u8 {
        1
    }

    /// Whether a stream is in use, for placements that do not always need all their streams. When
    /// the layer makes room in a bank for the host, it closes the open block of an unused stream,
    /// full or not.
    fn is_used(&self, stream: u8) -> bool {
        let _ = stream;
        true
    }

    /// Whether pages of a stream are hotter than most.
    fn is_hot_stream(&self, stream: u8) -> bool {
        stream == 0
    }

    /// What it does at each garbage collection in addition to choosing streams.
    #[inline(always)]
    fn traits(&self) -> Traits {
        Traits::default()
    }

    /// State to report in addition to counts, as names and values.
    fn report(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// A free block was opened for `stream`.
    fn opened(&mut self, bank: u32, block: BlockId, stream: u8, now: u64) {
        let _ = (bank, block, stream, now);
    }

    /// An open block is full. Returns how it enters the victim index. Called again if a chip
    /// failure interrupts the block's cleaning, because the block is then full as before. A block
    /// in which the chip failed may leave without a call, as [replaced](OwnVictims::replaced) ones
    /// do.
    fn closing(&mut self, bank: u32, block: BlockId, stream: u8) -> Entry {
        let _ = (bank, block, stream);
        Entry::Indexed
    }

    /// A block is about to be cleaned.
    fn cleaning(&mut self, victim: &Cleaning) {
        let _ = victim;
    }

    /// Its own cleaning order, if it has one.
    fn own_victims(&mut self) -> Option<&mut dyn OwnVictims> {
        None
    }

    /// Which pages are hot, if it knows that at any time; for victim policies that count hot pages.
    #[inline(always)]
    fn hot_pages(&self) -> Option<&dyn HotPages> {
        None
    }

    /// The receiver of upcoming host writes, if it needs them.
    #[inline(always)]
    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        None
    }
}

/// A placement with its own cleaning order.
pub trait OwnVictims {
    /// The block to clean, or a change to the index, after which the layer asks again. The layer
    /// may refuse a choice; [`cleaning`](Streams::cleaning) confirms it.
    fn choose(&mut self, bank: u32, blocks: &BlockView, now: u64) -> Choice;

    /// The block to clean if the victim policy was to choose and found none.
    fn fallback(&mut self, bank: u32, blocks: &BlockView) -> Option<BlockId> {
        let _ = (bank, blocks);
        None
    }

    /// Wear levelling moved all data of `old` to `new`, which is about to enter the index in its
    /// place.
    fn replaced(&mut self, bank: u32, old: BlockId, new: BlockId) {
        let _ = (bank, old, new);
    }
}

/// A placement that knows whether a page is hot.
pub trait HotPages {
    /// Whether a page is hot now. May change only for the page passed to [`host`](Placement::host)
    /// and the page returned by [`cooled`](Self::cooled).
    fn is_hot(&self, lpn: Lpn) -> bool;

    /// The page that ceased to be hot because of the last [`host`](Placement::host).
    fn cooled(&self) -> Option<Lpn>;
}

/// A placement that uses upcoming host writes.
pub trait Ahead {
    /// The host will write these pages, in this order, each with its placement hint; 0 is none.
    /// Replaces the previous list. No further question is asked about pages that are stored
    /// separately as read-only.
    fn coming(&mut self, writes: &mut dyn Iterator<Item = (Lpn, u16)>);
}

/// A placement policy.
pub trait Placement: Streams + Sized {
    /// State that the layer keeps with each page that holds data.
    type Page: PageState;

    /// The stream of a page that the host is about to write, given the state of its current copy.
    /// Called before any cleaning for it.
    fn host(&mut self, page: Self::Page, write: &impl HostWrite) -> u8;

    /// The stream of a survivor of the victim. May change its state.
    fn survivor(&mut self, page: &mut Self::Page, lpn: Lpn, now: u64) -> u8;

    /// The stream that [`host`](Self::host) always returns, if it does so and has no side effects.
    /// Then `host` is not called, and pages are written in runs.
    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        None
    }

    /// The streams of the victim's survivors, which come in physical order and may be sorted. Some
    /// of them may be [spilt](Self::spilt). If all go to one stream, they are copied [in
    /// runs](Answer::Together). A placement whose answers depend on blocks that open and close
    /// meanwhile asks for [single questions](Answer::OneByOne).
    #[inline(always)]
    fn survivors(&mut self, survivors: &mut Survivors<'_, Self::Page>) -> Answer {
        survivors.ask(self)
    }

    /// A page was filled before the run; it has not been updated.
    #[inline(always)]
    fn filled(&mut self, page: &mut Self::Page, lpn: Lpn, now: u64) {
        let _ = (page, lpn, now);
    }

    /// The host is writing a page whose block was allocated. The state is that of the superseded
    /// copy, and becomes that of the new one.
    #[inline(always)]
    fn written(&mut self, page: &mut Self::Page, lpn: Lpn, now: u64) {
        let _ = (page, lpn, now);
    }

    /// A page was trimmed, or was inferred to be garbage and erased with its block. Its state is
    /// dropped. The inference itself causes no call, because it may be revoked. Until then the page
    /// keeps its history, and the placement's own page counts include it.
    fn trimmed(&mut self, page: Self::Page, lpn: Lpn) {
        let _ = (page, lpn);
    }

    /// The stream of a survivor had no room and no free block, so the survivor goes to `stream`
    /// instead. If survivors are asked about singly, it is the one asked about last.
    fn spilt(&mut self, page: &mut Self::Page, lpn: Lpn, stream: u8, now: u64) {
        let _ = (page, lpn, stream, now);
    }

    /// Time of the last host write of a page, if known. Where block ages count from the youngest
    /// data, a block of survivors with known times is as old as the youngest of them. Otherwise it
    /// is as old as their source block.
    #[inline(always)]
    fn last_written(&self, page: Self::Page, lpn: Lpn) -> Option<u64> {
        let _ = (page, lpn);
        None
    }

    /// The note to store beside a page that is being programmed, for recovery of the tables.
    #[inline(always)]
    fn save(&self, page: Self::Page, lpn: Lpn) -> u16 {
        let _ = (page, lpn);
        0
    }

    /// Sets the state of a page found on the chip when the tables are rebuilt.
    fn restore(&mut self, page: &mut Self::Page, found: &Found) {
        self.filled(page, found.lpn, found.time);
    }

    /// Prefetches the cache lines that writing `lpn` will need.
    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        let _ = lpn;
    }
}

/// A placement with a name for users.
pub trait Registered: Placement + Sized {
    /// Whether it needs [`Context::future`].
    const SEES_FUTURE: bool = false;

    /// Whether it models a host that places its own data, which no controller can do alone.
    const MODELS_HOST: bool = false;

    /// The catalogue entry.
    const INFO: PolicyInfo;

    /// Whether it reads the placement hints of writes, which reach it by [`Ahead`], with these
    /// arguments.
    fn reads_hints(args: &Args) -> bool {
        let _ = args;
        false
    }

    /// Builds the placement from the user's arguments.
    ///
    /// # Errors
    /// [`ParamError`], naming the parameter.
    fn build(args: &Args, context: &Context) -> Result<Self, ParamError>;
}

/// An operation on a placement of any type.
pub trait Visitor {
    /// Result of the operation.
    type Output;
    /// Called with the named placement.
    fn visit<P: Placement>(self, placement: P) -> Self::Output;
}

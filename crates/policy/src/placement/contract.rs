//! What a placement is: asked where pages go, it decides and changes nothing but its own memory.
//!
//! A placement has two halves. [`Placement`] is about pages and is compiled into the layer's loop. [`Streams`] is about
//! streams and blocks, is called once a block or less, and can be a trait object. A method that is left out does nothing
//! and costs nothing.
//!
//! # Pages
//!
//! `Page` is what the layer keeps of each page for the placement. It lies beside the reverse map, in physical order, as
//! a chip would keep it in the spare area, and moves with the page: those of a victim are neighbours. A page without data
//! has the default. What does not fit 64 bits, or must not move, is a table in the placement, with a `prefetch`.
//!
//! | method | called when, and for what |
//! |---|---|
//! | `host` | the stream of a page that the host is about to write, before any garbage collection for it |
//! | `survivor` | the stream of a page that is copied |
//! | `host_stream` | the stream of all that the host writes, where `host` always answers that: pages are then written in runs |
//! | `survivors` | the streams of all survivors of a victim, or one for all. By default it asks `survivor` about each, before any is moved |
//! | `filled` | a page was written before the run |
//! | `written` | the page is being written; its block was allocated |
//! | `trimmed` | the page holds no data any more |
//! | `spilt` | the survivor asked about last went to another stream, because there was no free block |
//! | `last_written` | when the host wrote a survivor last, where blocks' ages count from the youngest data |
//! | `save` | sixteen bits to store beside a page that is being programmed |
//! | `restore` | a page was found when the tables were rebuilt: its block's stream, what was saved, when it was programmed |
//! | `prefetch` | a page will be asked about soon: prefetch the cache line of its row in a table |
//!
//! # Streams and blocks
//!
//! | method | called when, and for what |
//! |---|---|
//! | `streams` | once; depends on parameters and the device, not on traffic. The fill goes to stream 0 |
//! | `is_used` | whether a stream is in use now; the layer closes the open block of one that is not when it makes room for the host |
//! | `is_hot_stream` | whether a stream's pages are hotter than most, for dynamic banks |
//! | `traits` | what it does at each garbage collection beside answering; never changes |
//! | `report` | what `stat` and results show beside counts: names and values |
//! | `opened` | a free block was opened for a stream |
//! | `closing` | an open block is full: how it enters the index of victims ([`Entry`]) |
//! | `cleaning` | this block is about to be collected, and what is known of it |
//! | `own_victims` | the order of its own that it cleans in ([`OwnVictims`]) |
//! | `hot_pages` | which pages are hot now, if it knows ([`HotPages`]) |
//! | `ahead` | takes what the host writes next, if it wants to know ([`Ahead`]) |
//!
//! [`Registered::SEES_FUTURE`] says whether it needs `Context::future`.
//!
//! # Victims of its own
//!
//! Some schemes clean by queues of their own, such as first in, first out within a group: [`OwnVictims::choose`] returns a
//! [`Choice`], the layer carries it out and asks again until the choice is a block, or the victim policy's. Such a
//! placement has a log for each stream ([logs](super::logs)) or [queues](super::queues): `closing` puts a block into one,
//! `cleaning` takes it out, `replaced` exchanges two.
//!
//! * The victim policy's index holds the blocks as well. [`Entry::Aside`] keeps a block out of it, `Choice::Readmit` returns it.
//! * A choice must have garbage (`BlockView::has_garbage`, which counts blocks set aside; `is_candidate` does not). The layer refuses it
//!   where the survivors have no room. Only `cleaning` says that a block is gone, so `choose` does not take it out of a queue.
//! * A device without an answer stops although a block has garbage: end `choose` with `Choice::Victim`, and name a block set aside in `fallback`.
//! * Read-only data have a stream beyond the placement's own, and need a queue too, or stay in the index.
//! * Every bank asks separately, so queues are by bank.

use alloc::{string::String, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use super::survivors::{Answer, Survivors};
use crate::{Args, BlockView, Context, ParamError, PolicyInfo};

/// Where the current copy of a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The bank.
    pub bank: u32,
    /// The block.
    pub block: BlockId,
    /// The stream the block was opened for.
    pub stream: u8,
    /// The data page in the block, counted from 0.
    pub page: u32,
    /// The next data page to be programmed in the stream's open block; the number of pages in a
    /// block if that is full.
    pub next: u32,
}

/// A page that the host is about to write.
pub trait HostWrite {
    /// The page.
    fn lpn(&self) -> Lpn;

    /// When.
    fn now(&self) -> u64;

    /// Where the current copy lies, be it inferred to be garbage; `None` if the page holds no data. Looked up when asked.
    fn old(&self) -> Option<Place>;
}

/// A page that the host is about to write, to ask a placement about.
#[derive(Clone, Copy, Debug)]
pub struct Write<F> {
    /// The page.
    pub lpn: Lpn,
    /// When.
    pub now: u64,
    /// Looks up where the current copy lies.
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

/// A page found on the chip when the tables were rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The page.
    pub lpn: Lpn,
    /// The stream of its block: perhaps another placement's, and then perhaps not one of its own.
    pub stream: u8,
    /// What was [saved](Placement::save) beside it.
    pub note: u16,
    /// When it was programmed.
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
    /// The stream it was opened for.
    pub stream: u8,
    /// Logical pages that hold data, on the whole device; those inferred to be garbage do not.
    pub mapped: u32,
    /// Logical pages the device could hold.
    pub capacity: u32,
    /// Time of the cleaning.
    pub now: u64,
}

/// How a full block enters the index of victims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Entry {
    /// As the victim policy sees it.
    Indexed,
    /// Not at all: the placement names it itself when its turn comes.
    Aside,
    /// With this factor of wear, for victim policies that
    /// [take one](crate::victim::Victim::takes_factor); for the others as [`Indexed`](Entry::Indexed).
    Weighed(f64),
}

/// What a placement wants of the layer when a block is to be cleaned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// The block to clean.
    Clean(BlockId),
    /// The victim policy's choice.
    Victim,
    /// A block that was set aside enters the index; then the next question.
    Readmit(BlockId),
    /// A full block has another factor of wear, as by [`Entry::Weighed`]; then the next question.
    Weigh(BlockId, f64),
}

/// How the layer stores what it keeps of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing is kept.
    Nothing,
    /// In 8 bits.
    Byte,
    /// In 32 bits.
    HalfWord,
    /// In 64 bits.
    Word,
    /// In 32 bits as long as those of all pages fit, then in 64.
    Growing,
}

impl Kept {
    /// Whether anything is kept.
    #[inline(always)]
    #[must_use]
    pub const fn is_any(self) -> bool {
        !matches!(self, Self::Nothing)
    }
}

/// What the layer keeps of a page for a placement. Pages without data have the default, whose word is 0.
pub trait PageState: Copy + Default + Send + 'static {
    /// How it is stored.
    const KEPT: Kept;

    /// Whether that of a superseded copy counts for anything that the host writes; if not, the layer may give the
    /// default in its place.
    const RECALLED: bool = true;

    /// From the word that is stored.
    fn from_word(word: u64) -> Self;

    /// The word to store; it fits what is [kept](Self::KEPT).
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

/// Implements [`PageState`] for a type that wraps its word; the state of superseded copies is recalled unless `false` follows.
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

/// A number of 64 bits that is stored in 32 as long as those of all pages fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growing(pub u64);

in_a_word!(Growing: Growing);

/// What a placement does at each garbage collection beside answering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// It sorts survivors, so that those of several victims may be gathered first.
    pub sorts: bool,
    /// It recomputes something over all pages (processor time of the papers).
    pub scans: bool,
}

/// The half of a placement that is about streams and blocks.
pub trait Streams: Send + 'static {
    /// Number of streams for writable data; each has an open block in every bank. The fill goes to
    /// stream 0.
    fn streams(&self) -> u8 {
        1
    }

    /// Whether a stream is in use, for placements that do not always need all of theirs: of one that is not, the layer
    /// closes the open block when it makes room in that bank for the host, be it full or not.
    fn is_used(&self, stream: u8) -> bool {
        let _ = stream;
        true
    }

    /// Whether pages of a stream are hotter than most.
    fn is_hot_stream(&self, stream: u8) -> bool {
        stream == 0
    }

    /// What it does at each garbage collection beside answering.
    #[inline(always)]
    fn traits(&self) -> Traits {
        Traits::default()
    }

    /// What there is to report of it beside counts: names and what is so.
    fn report(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// A free block was opened for `stream`.
    fn opened(&mut self, bank: u32, block: BlockId, stream: u8, now: u64) {
        let _ = (bank, block, stream, now);
    }

    /// An open block is full: how it enters the index of victims. Asked once more of a block whose
    /// cleaning was broken off by a failure of the chip: it is full as before. A block in which the
    /// chip failed may leave unannounced, as [replaced](OwnVictims::replaced) ones do.
    fn closing(&mut self, bank: u32, block: BlockId, stream: u8) -> Entry {
        let _ = (bank, block, stream);
        Entry::Indexed
    }

    /// A block is about to be cleaned.
    fn cleaning(&mut self, victim: &Cleaning) {
        let _ = victim;
    }

    /// The order of its own that it cleans in, if it has one.
    fn own_victims(&mut self) -> Option<&mut dyn OwnVictims> {
        None
    }

    /// Which pages are hot, if it knows at any time: for victim policies that weigh hot pages.
    #[inline(always)]
    fn hot_pages(&self) -> Option<&dyn HotPages> {
        None
    }

    /// Takes what the host writes next, if it wants to know.
    #[inline(always)]
    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        None
    }
}

/// A placement that cleans in an order of its own.
pub trait OwnVictims {
    /// The block to clean, or what is to be changed in the index before; asked again after a change. A choice may be
    /// refused; [`cleaning`](Streams::cleaning) says that it was not.
    fn choose(&mut self, bank: u32, blocks: &BlockView, now: u64) -> Choice;

    /// The block to clean where the victim policy was to choose and found none.
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

/// A placement that knows of each page whether it is hot.
pub trait HotPages {
    /// Whether a page is hot now; changes for no other page than [`host`](Placement::host)'s own and
    /// [`cooled`](Self::cooled)'s.
    fn is_hot(&self, lpn: Lpn) -> bool;

    /// The page that ceased to be hot because of the last [`host`](Placement::host).
    fn cooled(&self) -> Option<Lpn>;
}

/// A placement that wants to know what the host will write.
pub trait Ahead {
    /// The host is about to write these pages, in this order; what was said before is over. Of those that are
    /// written apart as read-only nothing else is asked.
    fn coming(&mut self, pages: &mut dyn Iterator<Item = Lpn>);
}

/// A placement policy.
pub trait Placement: Streams + Sized {
    /// What the layer keeps of each page that holds data, and moves with it.
    type Page: PageState;

    /// The stream of a page the host is about to write, with the state of its current copy; decided before any cleaning
    /// for it.
    fn host(&mut self, page: Self::Page, write: &impl HostWrite) -> u8;

    /// The stream of a survivor of the victim, whose state may be changed.
    fn survivor(&mut self, page: &mut Self::Page, lpn: Lpn, now: u64) -> u8;

    /// The stream that [`host`](Self::host) always answers, if it does and changes nothing: it is not asked then, and
    /// pages are written in runs.
    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        None
    }

    /// The streams of the survivors of the victim, which come in physical order and may be sorted. Some of them may be
    /// [spilt](Self::spilt). Where all go to one stream they are copied [in runs](Answer::Together). Placements whose answers depend on blocks that open and close meanwhile want to be asked
    /// [one by one](Answer::OneByOne).
    #[inline(always)]
    fn survivors(&mut self, survivors: &mut Survivors<'_, Self::Page>) -> Answer {
        survivors.ask(self)
    }

    /// A page was filled before the run: data nobody has updated yet.
    #[inline(always)]
    fn filled(&mut self, page: &mut Self::Page, lpn: Lpn, now: u64) {
        let _ = (page, lpn, now);
    }

    /// A page is being written by the host; its block was allocated. The state is that of the copy that is superseded,
    /// and becomes that of the new one.
    #[inline(always)]
    fn written(&mut self, page: &mut Self::Page, lpn: Lpn, now: u64) {
        let _ = (page, lpn, now);
    }

    /// A page was trimmed, or was inferred to be garbage and went with its block: forget it. Of the
    /// inference itself there is no call, for it may be taken back: the page keeps its history until
    /// then, and counts of pages that a placement keeps for itself still have it.
    fn trimmed(&mut self, page: Self::Page, lpn: Lpn) {
        let _ = (page, lpn);
    }

    /// The stream that a survivor belongs to had no room and no free block: the survivor, asked about last if
    /// survivors are asked about one by one, goes to `stream` instead.
    fn spilt(&mut self, page: &mut Self::Page, lpn: Lpn, stream: u8, now: u64) {
        let _ = (page, lpn, stream, now);
    }

    /// When the host wrote a page last, if that is known. Where blocks' ages count from the youngest data, a block of
    /// such survivors is as old as the youngest of them; of others, as old as the block they come from.
    #[inline(always)]
    fn last_written(&self, page: Self::Page, lpn: Lpn) -> Option<u64> {
        let _ = (page, lpn);
        None
    }

    /// What it wants to find again beside a page that is being programmed, should the tables be lost.
    #[inline(always)]
    fn save(&self, page: Self::Page, lpn: Lpn) -> u16 {
        let _ = (page, lpn);
        0
    }

    /// A page was found on the chip when the tables were rebuilt; its state is to be set.
    fn restore(&mut self, page: &mut Self::Page, found: &Found) {
        self.filled(page, found.lpn, found.time);
    }

    /// Asks for the cache lines that writing `lpn` will need.
    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        let _ = lpn;
    }
}

/// A placement that users can name.
pub trait Registered: Placement + Sized {
    /// Whether it needs [`Context::future`].
    const SEES_FUTURE: bool = false;

    /// Whether it stands for a host that places its own data, which no controller can do by itself.
    const MODELS_HOST: bool = false;

    /// What the catalogue says.
    const INFO: PolicyInfo;

    /// Builds it from the user's arguments.
    ///
    /// # Errors
    /// [`ParamError`], naming the parameter.
    fn build(args: &Args, context: &Context) -> Result<Self, ParamError>;
}

/// What is to be done with a placement, whatever its type.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Called with the placement that was named.
    fn visit<P: Placement>(self, placement: P) -> Self::Output;
}

//! What a placement is: asked where pages go and which block is next, it decides and changes nothing
//! but its own memory.
//!
//! A hook that is left out does nothing and costs nothing. In the order of a page's life:
//!
//! | hook | called when, and for what |
//! |---|---|
//! | `streams` | once; depends on parameters and the device, not on traffic. The fill goes to stream 0 |
//! | `is_used` | whether a stream is in use now; the layer closes the open block of one that is not when it makes room for the host |
//! | `report` | what `stat` and results show beside counts: names and values |
//! | `filled` | a page was written before the run |
//! | `host` | the stream of a page that the host is about to write, where there is no common one; before any garbage collection for it |
//! | `host_over` | in place of `host` if `locates`: has the place of the old copy |
//! | `written` | the page is being written; its block was allocated |
//! | `trimmed` | the page holds no data any more: forget it |
//! | `opened` | a free block was opened for a stream |
//! | `closing` | an open block is full: how it enters the index of victims ([`Entry`]) |
//! | `choose` | the block to clean, or a change to the index before ([`Choice`]); by default the victim policy's turn |
//! | `fallback` | the block to clean where the victim policy found none |
//! | `cleaning` | this block is about to be collected, and what is known of it |
//! | `order` | sorts the survivors, if `sorts` |
//! | `host_stream` | the stream of all host writes, where it does not depend on the page; pages are then written in runs |
//! | `common_stream` | the stream of all survivors, where it does not depend on the page; they are then copied in runs |
//! | `survivor` | the stream of a page that is copied, where there is no common one |
//! | `survivors` | the streams of all survivors at once, if `tells_at_once`, in place of `survivor`. For placements whose answers do not change while the victim is emptied |
//! | `moving` | all survivors are about to go to the common stream |
//! | `spilt` | the last survivor went to another stream, because there was no free block |
//! | `note` | sixteen bits to store beside a page that is being programmed |
//! | `recovered` | a page was found when the tables were rebuilt: its block's stream, its note, when it was programmed |
//! | `replaced` | wear levelling moved a block's data to another block |
//! | `logs` | the logs that it cleans by; `opened`, `closing`, `cleaning` and `replaced` then keep them |
//! | `is_hot`, `cooled` | whether a page is hot, and which page has ceased to be, if `knows_hot` |
//! | `is_hot_stream` | whether a stream's pages are hotter than most, for dynamic banks |
//! | `coming` | the pages that the host will write next, if `looks_ahead` |
//! | `prefetch`, `prefetch_for_host` | a page will be asked about soon: prefetch its cache line; what a host write needs, where that is more |
//!
//! These never change: `sorts`, `tells_at_once`, `keeps`, `locates`, `knows_hot`, `looks_ahead`; `scans` if each garbage collection walks over all
//! pages (processor time of the papers); [`Registered::SEES_FUTURE`] if it needs `Context::future`.
//!
//! # State per page
//!
//! The layer stores up to 64 bits a page, in a table beside the reverse map, in physical order, as a chip would in the spare area. A
//! victim's words are neighbours, where a table by logical page needs a cache line for each page. A word moves with
//! its page. A page without data has the word 0. A placement with words implements these in place of the hooks without `_word`:
//!
//! | hook | word |
//! |---|---|
//! | `keeps` | whether there is one (`Kept::Word`), or half of one, which takes 32 bits as long as the words of all pages fit (`Kept::HalfWord`) |
//! | `recalls` | whether the word of a superseded copy counts for what the host writes; if not, the layer does not look for it |
//! | `host_word` | that of the page about to be overwritten; with the place of the old copy if `locates` |
//! | `written_word` | takes that word and returns the new one |
//! | `filled_word`, `recovered_word` | returns the first one |
//! | `trimmed_word` | the last one |
//! | `order_words` | those of the survivors, sorted with them |
//! | `survivor_word`, `survivor_words`, `moving` | those of the survivors, which may be changed |
//! | `note_word` | that of the page being programmed |
//!
//! # Victims of its own
//!
//! Some schemes clean by queues of their own, such as first in, first out within a group. Such a placement implements `choose`: it
//! returns a [`Choice`], the layer carries it out and asks again until the choice is a block, or the victim policy's. Either it has a log for
//! each stream ([`Logs`], returned by `logs`; an override of `opened`, `closing`, `cleaning` or `replaced` keeps them), or
//! [queues](super::queues): `closing` puts a block into a queue, `cleaning` takes it out, `replaced` exchanges two.
//!
//! * The victim policy's index holds the blocks as well. [`Entry::Aside`] keeps a block out of it, `Choice::Readmit` returns it.
//! * A choice must have garbage (`BlockView::has_garbage`, which counts blocks set aside; `is_candidate` does not). The layer refuses it
//!   where the survivors have no room. Only `cleaning` says that a block is gone, so `choose` does not take it out of a queue.
//! * A device without an answer stops although a block has garbage: end `choose` with `Choice::Victim`, and name a block set aside in `fallback`.
//! * Read-only data have a stream beyond the placement's own, and need a queue too, or stay in the index.
//! * Every bank asks separately, so queues are by bank.

use alloc::{string::String, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use super::logs::Logs;
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

/// What the layer keeps of each page for a placement, where the page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing.
    Nothing,
    /// A word, in 32 bits as long as the words of all pages fit.
    HalfWord,
    /// A word of 64 bits.
    Word,
}

impl Kept {
    /// Whether there is a word.
    #[inline(always)]
    #[must_use]
    pub const fn is_any(self) -> bool {
        !matches!(self, Self::Nothing)
    }
}

/// A placement policy.
pub trait Placement: Send + 'static {
    /// Whether [`order`](Placement::order) does anything; survivors are gathered first if so.
    #[inline(always)]
    fn sorts(&self) -> bool {
        false
    }

    /// Whether a cleaning recomputes something over all pages (processor time of the papers).
    #[inline(always)]
    fn scans(&self) -> bool {
        false
    }

    /// Whether [`host_over`](Placement::host_over) looks at where the page lies.
    #[inline(always)]
    fn locates(&self) -> bool {
        false
    }

    /// Whether it knows of each page at any time whether it is hot, for victim policies that weigh
    /// hot pages and for banks that are chosen by them.
    #[inline(always)]
    fn knows_hot(&self) -> bool {
        false
    }

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

    /// What there is to report of it beside counts: names and what is so.
    fn report(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The stream of all that the host writes, where that is one whatever the page: then
    /// [`host`](Placement::host) is not asked, and pages are written in runs.
    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        None
    }

    /// The stream of a page the host is about to write; decided before any cleaning for it.
    #[inline(always)]
    fn host(&mut self, lpn: Lpn, now: u64) -> u8 {
        let _ = (lpn, now);
        self.host_stream().unwrap_or(0)
    }

    /// In place of [`host`](Placement::host), for placements that want to know where the current copy lies, be it inferred to be
    /// garbage; `None` if the page holds no data. Asked in its stead.
    #[inline(always)]
    fn host_over(&mut self, lpn: Lpn, old: Option<Place>, now: u64) -> u8 {
        let _ = old;
        self.host(lpn, now)
    }

    /// Whether a page is hot now; changes for no other page than [`host`](Placement::host)'s own and
    /// [`cooled`](Placement::cooled)'s.
    #[inline(always)]
    fn is_hot(&self, lpn: Lpn) -> bool {
        let _ = lpn;
        false
    }

    /// The page that ceased to be hot because of the last [`host`](Placement::host).
    #[inline(always)]
    fn cooled(&mut self) -> Option<Lpn> {
        None
    }

    /// Whether pages of a stream are hotter than most.
    fn is_hot_stream(&self, stream: u8) -> bool {
        stream == 0
    }

    /// A page was filled before the run: data nobody has updated yet.
    #[inline(always)]
    fn filled(&mut self, lpn: Lpn, now: u64) {
        let _ = (lpn, now);
    }

    /// A page is being written by the host; its block was allocated.
    #[inline(always)]
    fn written(&mut self, lpn: Lpn, now: u64) {
        let _ = (lpn, now);
    }

    /// A page was trimmed, or was inferred to be garbage and went with its block: forget it. Of the
    /// inference itself there is no call, for it may be taken back: the page keeps its history until
    /// then, and counts of pages that a placement keeps for itself still have it.
    fn trimmed(&mut self, lpn: Lpn) {
        let _ = lpn;
    }

    /// The logs it cleans by, if it does: [`opened`](Placement::opened),
    /// [`closing`](Placement::closing), [`replaced`](Placement::replaced) and
    /// [`cleaning`](Placement::cleaning) keep them where it does not override these.
    fn logs(&mut self) -> Option<&mut Logs> {
        None
    }

    /// A free block was opened for `stream`.
    fn opened(&mut self, bank: u32, block: BlockId, stream: u8, now: u64) {
        let _ = (bank, stream, now);
        if let Some(logs) = self.logs() {
            logs.remove(block);
        }
    }

    /// An open block is full: how it enters the index of victims. Asked once more of a block whose
    /// cleaning was broken off by a failure of the chip: it is full as before. A block in which the
    /// chip failed may leave unannounced, as [replaced](Placement::replaced) ones do.
    fn closing(&mut self, bank: u32, block: BlockId, stream: u8) -> Entry {
        if let Some(logs) = self.logs() {
            logs.push(bank, stream, block);
        }
        Entry::Indexed
    }

    /// Wear levelling moved all data of `old` to `new`, which is about to enter the index in its
    /// place.
    fn replaced(&mut self, bank: u32, old: BlockId, new: BlockId) {
        let _ = bank;
        if let Some(logs) = self.logs() {
            logs.replace(old, new);
        }
    }

    /// The block to clean, or what is to be changed in the index before; asked again after a change.
    /// Placements that clean in an order of their own answer themselves; the others leave it to the
    /// victim policy. A choice may be refused; [`cleaning`](Placement::cleaning) says that it was not.
    fn choose(&mut self, bank: u32, blocks: &BlockView, now: u64) -> Choice {
        let _ = (bank, blocks, now);
        Choice::Victim
    }

    /// The block to clean where the victim policy was to choose and found none.
    fn fallback(&mut self, bank: u32, blocks: &BlockView) -> Option<BlockId> {
        let _ = (bank, blocks);
        None
    }

    /// A block is about to be cleaned.
    fn cleaning(&mut self, victim: &Cleaning) {
        if let Some(logs) = self.logs() {
            logs.remove(victim.block);
        }
    }

    /// Sorts the survivors of the victim; they come in physical order.
    fn order(&mut self, survivors: &mut [Lpn], now: u64) {
        let _ = (survivors, now);
    }

    /// The stream of all survivors of the victim, where they go to one whatever page they are: then
    /// [`survivor`](Placement::survivor) is not asked, and they are moved in runs.
    #[inline(always)]
    fn common_stream(&self) -> Option<u8> {
        None
    }

    /// The stream of a survivor of the victim.
    #[inline(always)]
    fn survivor(&mut self, lpn: Lpn, now: u64) -> u8 {
        let _ = (lpn, now);
        self.common_stream().unwrap_or(0)
    }

    /// Whether it returns the streams of the survivors of this victim at once: then [`survivors`](Placement::survivors) is
    /// asked in place of [`survivor`](Placement::survivor).
    #[inline(always)]
    fn tells_at_once(&self) -> bool {
        false
    }

    /// The streams of the survivors of the victim, in their order. Some of them may be [spilt](Placement::spilt).
    #[inline(always)]
    fn survivors(&mut self, survivors: &[Lpn], streams: &mut [u8], now: u64) {
        let _ = (survivors, streams, now);
    }

    /// The stream that a survivor belongs to had no room and no free block: the survivor just
    /// asked about goes to `stream` instead.
    fn spilt(&mut self, lpn: Lpn, stream: u8, now: u64) {
        let _ = (lpn, stream, now);
    }

    /// What it wants to find again beside a page that is being programmed, should the tables be lost.
    #[inline(always)]
    fn note(&self, lpn: Lpn) -> u16 {
        let _ = lpn;
        0
    }

    /// A page was found on the chip when the tables were rebuilt: in a block of `stream` (perhaps another
    /// placement's, and then perhaps not one of its own), programmed at `time` with `note`.
    fn recovered(&mut self, lpn: Lpn, stream: u8, note: u16, time: u64) {
        let _ = (stream, note);
        self.filled(lpn, time);
    }

    /// Whether it wants to know what the host will write next.
    #[inline(always)]
    fn looks_ahead(&self) -> bool {
        false
    }

    /// The host is about to write these pages, in this order; what was said before is over. Of those that are
    /// written apart as read-only nothing else is asked.
    fn coming(&mut self, pages: &mut dyn Iterator<Item = Lpn>) {
        let _ = pages;
    }

    /// Survivors are about to be moved to their [common stream](Placement::common_stream).
    #[inline(always)]
    fn moving(&mut self, survivors: &[Lpn], words: &mut [u64], now: u64) {
        let _ = (survivors, words, now);
    }

    // A word of each page: a placement that remembers up to 64 bits of pages that hold data has the layer keep them
    // where the page lies, and answers the following in place of the same without a word.

    /// Whether the layer keeps a word of each page that holds data: beside the reverse map, in physical order, so that
    /// those of a victim lie side by side. A word moves with its page; that of a page without data is 0.
    #[inline(always)]
    fn keeps(&self) -> Kept {
        Kept::Nothing
    }

    /// Whether the word of a superseded copy counts for anything that the host writes; 0 may be given in its place where
    /// not.
    #[inline(always)]
    fn recalls(&self) -> bool {
        true
    }

    /// [`host`](Placement::host) and [`host_over`](Placement::host_over); `old` is there if it
    /// [locates](Placement::locates).
    #[inline(always)]
    fn host_word(&mut self, lpn: Lpn, word: u64, old: Option<Place>, now: u64) -> u8 {
        let _ = word;
        if self.locates() { self.host_over(lpn, old, now) } else { self.host(lpn, now) }
    }

    /// [`filled`](Placement::filled); returns the page's word.
    #[inline(always)]
    fn filled_word(&mut self, lpn: Lpn, now: u64) -> u64 {
        self.filled(lpn, now);
        0
    }

    /// [`written`](Placement::written), with the word of the copy that is superseded; returns the new one.
    #[inline(always)]
    fn written_word(&mut self, lpn: Lpn, word: u64, now: u64) -> u64 {
        self.written(lpn, now);
        word
    }

    /// [`trimmed`](Placement::trimmed), with the word that was kept.
    fn trimmed_word(&mut self, lpn: Lpn, word: u64) {
        let _ = word;
        self.trimmed(lpn);
    }

    /// [`order`](Placement::order); words are sorted with their pages.
    fn order_words(&mut self, survivors: &mut [Lpn], words: &mut [u64], now: u64) {
        let _ = words;
        self.order(survivors, now);
    }

    /// [`survivor`](Placement::survivor), with its word, which may be changed.
    #[inline(always)]
    fn survivor_word(&mut self, lpn: Lpn, word: &mut u64, now: u64) -> u8 {
        let _ = word;
        self.survivor(lpn, now)
    }

    /// [`survivors`](Placement::survivors), with their words, which may be changed.
    #[inline(always)]
    fn survivor_words(
        &mut self,
        survivors: &[Lpn],
        words: &mut [u64],
        streams: &mut [u8],
        now: u64,
    ) {
        let _ = words;
        self.survivors(survivors, streams, now);
    }

    /// [`note`](Placement::note), by the page's word.
    #[inline(always)]
    fn note_word(&self, lpn: Lpn, word: u64) -> u16 {
        let _ = word;
        self.note(lpn)
    }

    /// [`recovered`](Placement::recovered); returns the page's word.
    fn recovered_word(&mut self, lpn: Lpn, stream: u8, note: u16, time: u64) -> u64 {
        if self.keeps().is_any() {
            return self.filled_word(lpn, time);
        }
        self.recovered(lpn, stream, note, time);
        0
    }

    /// Asks for the cache lines that writing `lpn` will need.
    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        let _ = lpn;
    }

    /// As [`prefetch`](Placement::prefetch), for a page that the host will write, where that needs more.
    #[inline(always)]
    fn prefetch_for_host(&self, lpn: Lpn) {
        self.prefetch(lpn);
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

//! A placement asked page by page, whether a layer keeps words for it or not.

use std::collections::HashMap;

use thermocline_flash::{BlockId, Lpn};
use thermocline_policy::{
    BlockView,
    placement::{Choice, Cleaning, Entry, Kept, Place, Placement},
};

/// A placement and the words that a layer would keep of pages.
#[derive(Clone, Debug)]
pub struct WithWords<P> {
    placement: P,
    words: HashMap<Lpn, u64>,
}

impl<P: Placement> WithWords<P> {
    pub fn of(placement: P) -> Self {
        Self { placement, words: HashMap::new() }
    }

    fn word(&self, lpn: Lpn) -> u64 {
        self.words.get(&lpn).copied().unwrap_or(0)
    }

    fn keep(&mut self, lpn: Lpn, word: u64) {
        assert!(word == 0 || self.placement.keeps() != Kept::Nothing, "{lpn:?} has word {word}");
        assert!(
            self.placement.keeps() != Kept::HalfWord || u32::try_from(word).is_ok(),
            "a word of so few writes fits 32 bits"
        );
        self.words.insert(lpn, word);
    }
}

impl<P: Placement> Placement for WithWords<P> {
    fn sorts(&self) -> bool {
        self.placement.sorts()
    }

    fn locates(&self) -> bool {
        self.placement.locates()
    }

    fn knows_hot(&self) -> bool {
        self.placement.knows_hot()
    }

    fn streams(&self) -> u8 {
        self.placement.streams()
    }

    fn is_used(&self, stream: u8) -> bool {
        self.placement.is_used(stream)
    }

    fn host_stream(&self) -> Option<u8> {
        self.placement.host_stream()
    }

    fn host(&mut self, lpn: Lpn, now: u64) -> u8 {
        self.host_over(lpn, None, now)
    }

    fn host_over(&mut self, lpn: Lpn, old: Option<Place>, now: u64) -> u8 {
        let word = self.word(lpn);
        self.placement.host_word(lpn, word, old, now)
    }

    fn is_hot(&self, lpn: Lpn) -> bool {
        self.placement.is_hot(lpn)
    }

    fn cooled(&mut self) -> Option<Lpn> {
        self.placement.cooled()
    }

    fn is_hot_stream(&self, stream: u8) -> bool {
        self.placement.is_hot_stream(stream)
    }

    fn filled(&mut self, lpn: Lpn, now: u64) {
        let word = self.placement.filled_word(lpn, now);
        self.keep(lpn, word);
    }

    fn written(&mut self, lpn: Lpn, now: u64) {
        let before = self.word(lpn);
        let word = self.placement.written_word(lpn, before, now);
        self.keep(lpn, word);
    }

    fn trimmed(&mut self, lpn: Lpn) {
        let word = self.words.remove(&lpn).unwrap_or(0);
        self.placement.trimmed_word(lpn, word);
    }

    fn opened(&mut self, bank: u32, block: BlockId, stream: u8, now: u64) {
        self.placement.opened(bank, block, stream, now);
    }

    fn closing(&mut self, bank: u32, block: BlockId, stream: u8) -> Entry {
        self.placement.closing(bank, block, stream)
    }

    fn replaced(&mut self, bank: u32, old: BlockId, new: BlockId) {
        self.placement.replaced(bank, old, new);
    }

    fn choose(&mut self, bank: u32, blocks: &BlockView, now: u64) -> Choice {
        self.placement.choose(bank, blocks, now)
    }

    fn fallback(&mut self, bank: u32, blocks: &BlockView) -> Option<BlockId> {
        self.placement.fallback(bank, blocks)
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        self.placement.cleaning(victim);
    }

    fn order(&mut self, survivors: &mut [Lpn], now: u64) {
        let mut words: Vec<u64> = survivors.iter().map(|&lpn| self.word(lpn)).collect();
        self.placement.order_words(survivors, &mut words, now);
        let sorted: Vec<u64> = survivors.iter().map(|&lpn| self.word(lpn)).collect();
        assert_eq!(words, sorted, "words are sorted with their pages");
    }

    fn common_stream(&self) -> Option<u8> {
        self.placement.common_stream()
    }

    fn survivor(&mut self, lpn: Lpn, now: u64) -> u8 {
        let mut word = self.word(lpn);
        let stream = match self.placement.common_stream() {
            Some(stream) => {
                self.placement.moving(&[lpn], std::slice::from_mut(&mut word), now);
                stream
            }
            None => self.placement.survivor_word(lpn, &mut word, now),
        };
        self.keep(lpn, word);
        stream
    }

    fn spilt(&mut self, lpn: Lpn, stream: u8, now: u64) {
        self.placement.spilt(lpn, stream, now);
    }

    fn note(&self, lpn: Lpn) -> u16 {
        self.placement.note_word(lpn, self.word(lpn))
    }

    fn recovered(&mut self, lpn: Lpn, stream: u8, note: u16, time: u64) {
        let word = self.placement.recovered_word(lpn, stream, note, time);
        self.keep(lpn, word);
    }

    fn looks_ahead(&self) -> bool {
        self.placement.looks_ahead()
    }

    fn coming(&mut self, pages: &mut dyn Iterator<Item = Lpn>) {
        self.placement.coming(pages);
    }
}

//! A placement called page by page, with the per-page states that a layer would store.

use std::{
    collections::HashMap,
    ops::{Deref, DerefMut},
};

use thermocline_flash::Lpn;
use thermocline_policy::placement::{
    Answer, Found, Kept, PageState, Place, Placement, Survivors, Write,
};

/// A placement with the words that a layer would store for pages.
#[derive(Clone, Debug)]
pub struct WithWords<P> {
    placement: P,
    words: HashMap<Lpn, u64>,
}

impl<P> Deref for WithWords<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.placement
    }
}

impl<P> DerefMut for WithWords<P> {
    fn deref_mut(&mut self) -> &mut P {
        &mut self.placement
    }
}

impl<P: Placement> WithWords<P> {
    pub fn of(placement: P) -> Self {
        Self { placement, words: HashMap::new() }
    }

    fn page(&self, lpn: Lpn) -> P::Page {
        P::Page::from_word(self.words.get(&lpn).copied().unwrap_or(0))
    }

    fn keep(&mut self, lpn: Lpn, word: u64) {
        let most = match P::Page::KEPT {
            Kept::Nothing => 0,
            Kept::Byte => u8::MAX.into(),
            // After so few writes, growing words fit 32 bits.
            Kept::HalfWord | Kept::Growing => u32::MAX.into(),
            Kept::Word => u64::MAX,
        };
        assert!(word <= most, "{lpn:?} has word {word}");
        self.words.insert(lpn, word);
    }

    fn change(&mut self, lpn: Lpn, change: impl FnOnce(&mut P, &mut P::Page)) {
        let mut page = self.page(lpn);
        change(&mut self.placement, &mut page);
        self.keep(lpn, page.word());
    }

    pub fn host(&mut self, lpn: Lpn, now: u64) -> u8 {
        self.host_over(lpn, None, now)
    }

    pub fn host_over(&mut self, lpn: Lpn, old: Option<Place>, now: u64) -> u8 {
        let stream = self.placement.host(self.page(lpn), &Write { lpn, now, old: || old });
        assert!(self.placement.host_stream().is_none_or(|always| always == stream));
        stream
    }

    pub fn filled(&mut self, lpn: Lpn, now: u64) {
        self.change(lpn, |placement, page| placement.filled(page, lpn, now));
    }

    pub fn written(&mut self, lpn: Lpn, now: u64) {
        self.change(lpn, |placement, page| placement.written(page, lpn, now));
    }

    pub fn trimmed(&mut self, lpn: Lpn) {
        let page = self.page(lpn);
        self.words.remove(&lpn);
        self.placement.trimmed(page, lpn);
    }

    /// Asks about survivors, which the placement may sort; returns their streams.
    pub fn survivors(&mut self, lpns: &mut [Lpn], now: u64) -> Vec<u8> {
        let word = |this: &Self, lpn| this.words.get(&lpn).copied().unwrap_or(0);
        let mut words: Vec<u64> = match P::Page::KEPT {
            Kept::Nothing => Vec::new(),
            _ => lpns.iter().map(|&lpn| word(self, lpn)).collect(),
        };
        let mut streams = vec![0; lpns.len()];
        let mut survivors = Survivors::new(lpns, &mut words, &mut streams, now);
        let answer = self.placement.survivors(&mut survivors);
        if answer != Answer::OneByOne {
            lpns.iter().zip(words).for_each(|(&lpn, word)| self.keep(lpn, word));
            if let Answer::Together(stream) = answer {
                streams.fill(stream);
            }
            return streams;
        }
        for (&lpn, stream) in lpns.iter().zip(&mut streams) {
            self.change(lpn, |placement, page| *stream = placement.survivor(page, lpn, now));
        }
        streams
    }

    pub fn survivor(&mut self, lpn: Lpn, now: u64) -> u8 {
        self.survivors(&mut [lpn], now)[0]
    }

    pub fn spilt(&mut self, lpn: Lpn, stream: u8, now: u64) {
        self.change(lpn, |placement, page| placement.spilt(page, lpn, stream, now));
    }

    pub fn note(&self, lpn: Lpn) -> u16 {
        self.placement.save(self.page(lpn), lpn)
    }

    pub fn recovered(&mut self, lpn: Lpn, stream: u8, note: u16, time: u64) {
        self.words.remove(&lpn);
        let found = Found { lpn, stream, note, time };
        self.change(lpn, |placement, page| placement.restore(page, &found));
    }
}

//! M6, separate segment cleaning with fine-grained separation: a page is hot if its hot degree
//! exceeds the average hot degree (CAT paper, §3.2 and §6.1.1).

use thermocline_flash::Lpn;

use super::{
    Cleaning, Kept, Placement, Registered,
    hotness::{Bar, Hotness},
};
use crate::{
    Args, Context, ParamError, PolicyInfo, Ticks,
    age::{Shape, Transform},
    params,
};

// Stream 0 is hot, stream 1 cold.

params! {
    /// Parameters of [`FineGrained`].
    pub struct FineGrainedParams {
        /// Time scale on which a page's update count fades; auto: 1700 mean gaps between page
        /// writes, or the device's.
        tau: Option<Ticks> = None,
        /// Up to this number of logical pages the mean hot degree is recomputed page by page; beyond,
        /// by epochs of the last write, within 0.5 %.
        exact: u32 = 8192,
    }
}

/// Sends each survivor to the hot or the cold stream by its hot degree.
#[derive(Clone, Debug)]
pub struct FineGrained {
    hotness: Hotness,
    /// The mean hot degree at the last cleaning.
    bar: Bar,
}

impl Placement for FineGrained {
    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        Some(0)
    }

    #[inline(always)]
    fn scans(&self) -> bool {
        true
    }

    fn streams(&self) -> u8 {
        2
    }

    #[inline(always)]
    fn keeps(&self) -> Kept {
        Kept::Word
    }

    fn filled_word(&mut self, lpn: Lpn, now: u64) -> u64 {
        self.hotness.filled(lpn, now)
    }

    #[inline(always)]
    fn written_word(&mut self, lpn: Lpn, word: u64, now: u64) -> u64 {
        self.hotness.written(lpn, word, now)
    }

    fn trimmed_word(&mut self, lpn: Lpn, word: u64) {
        self.hotness.trimmed(lpn, word);
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        if victim.valid > 0 {
            let mean = self.hotness.mean(victim.mapped, victim.now);
            self.bar = self.hotness.bar(mean, victim.now);
        }
    }

    fn survivor_word(&mut self, lpn: Lpn, word: &mut u64, now: u64) -> u8 {
        let (words, mut stream) = (core::slice::from_mut(word), 0);
        self.survivor_words(&[lpn], words, core::slice::from_mut(&mut stream), now);
        stream
    }

    #[inline(always)]
    fn tells_at_once(&self) -> bool {
        true
    }

    #[inline(always)]
    fn survivor_words(
        &mut self,
        survivors: &[Lpn],
        words: &mut [u64],
        streams: &mut [u8],
        now: u64,
    ) {
        let mut streams = streams.iter_mut();
        self.hotness.exceed(survivors.iter().zip(&*words), self.bar.at(now), |is_hot| {
            if let Some(stream) = streams.next() {
                *stream = u8::from(!is_hot);
            }
        });
    }

    /// The update count.
    #[inline(always)]
    fn note_word(&self, lpn: Lpn, word: u64) -> u16 {
        self.hotness.note(lpn, word)
    }

    /// It is taken for last written when its copy was made: that may be later than it was.
    fn recovered_word(&mut self, lpn: Lpn, _stream: u8, note: u16, time: u64) -> u64 {
        self.hotness.recovered(lpn, note, time)
    }
}

impl Registered for FineGrained {
    const INFO: PolicyInfo = PolicyInfo {
        name: "fine-grained",
        aliases: &["m6", "M6"],
        source: "CAT paper §3.2 and §6.1.1, M6",
        summary: "pages of more than average hot degree stay hot; the CAT paper's best placement",
        params: FineGrainedParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = FineGrainedParams::read(args)?;
        let transform = Transform::new(Shape::Log, p.tau, context.time_scale, 0.0);
        let hotness = Hotness::new(context.logical_pages, transform, p.exact);
        Ok(Self { bar: hotness.bar(0.0, 0), hotness })
    }
}

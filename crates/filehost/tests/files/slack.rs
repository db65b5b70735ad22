//! Each timed workload has the slack structure of the device it models (thesis, chapters 3, 5 and
//! 6), measured by the gaps between arrivals that are longer than a fold.

use super::traffic::{FOLD, Traffic};
use thermocline_filehost::Scenario;

/// Statistics of the gaps.
struct Slack {
    gaps: Vec<u64>,
}

impl Slack {
    fn of(scenario: Scenario) -> Slack {
        Slack { gaps: Traffic::usual(scenario).gaps() }
    }

    fn share(&self, longer_than: u64) -> f64 {
        self.gaps.iter().filter(|gap| **gap > longer_than).count() as f64 / self.gaps.len() as f64
    }

    /// The median of the gaps longer than a fold.
    fn median_of_long(&self) -> u64 {
        let mut long: Vec<u64> = self.gaps.iter().copied().filter(|gap| *gap > FOLD).collect();
        long.sort_unstable();
        long[long.len() / 2]
    }
}

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLISECOND;

#[test]
fn cell_phones_have_many_long_slacks() {
    let slack = Slack::of(Scenario::CellPhone);
    // One gap of seconds after every four or five requests: more than a hundred folds.
    assert!((0.15..0.35).contains(&slack.share(FOLD)), "{}", slack.share(FOLD));
    assert!((SECOND..5 * SECOND).contains(&slack.median_of_long()), "{}", slack.median_of_long());
}

#[test]
fn event_recorders_have_no_slack_but_between_influxes() {
    let slack = Slack::of(Scenario::EventRecorder);
    assert!(slack.share(FOLD) < 0.003, "{}", slack.share(FOLD));
    assert!(slack.share(4 * MILLISECOND) < 0.01, "{}", slack.share(4 * MILLISECOND));
    assert!(slack.median_of_long() > 4 * SECOND, "{}", slack.median_of_long());
}

#[test]
fn fax_machines_have_slack_between_write_backs() {
    let slack = Slack::of(Scenario::Fax);
    // The requests of a write-back are large, so some gaps between them are longer than a fold.
    assert!((0.1..0.4).contains(&slack.share(FOLD)), "{}", slack.share(FOLD));
    // Gaps between write-backs are seconds long.
    assert!((0.02..0.2).contains(&slack.share(SECOND)), "{}", slack.share(SECOND));
}

#[test]
fn pictures_are_compressed_in_slacks_of_some_hundred_milliseconds() {
    let slack = Slack::of(Scenario::Jpeg);
    let median = slack.median_of_long();
    assert!((100 * MILLISECOND..400 * MILLISECOND).contains(&median), "{median}");
    assert!((0.03..0.2).contains(&slack.share(FOLD)), "{}", slack.share(FOLD));
    assert!(slack.share(2 * SECOND) == 0.0);
}

#[test]
fn decoders_leave_large_requests_and_gaps_of_their_service() {
    let traffic = Traffic::usual(Scenario::Mad);
    let writes: Vec<u64> = traffic
        .proper()
        .iter()
        .filter(|sent| sent.bytes.is_none() && sent.request.offset > 0)
        .filter(|sent| sent.request.op == thermocline_trace::Op::Write)
        .map(|sent| sent.request.len)
        .collect();
    let full = writes.iter().filter(|len| **len == 120 << 10).count();
    assert!(full * 2 > writes.len(), "{full} of {}", writes.len());
    let slack = Slack::of(Scenario::Mad);
    assert!((0.1..0.5).contains(&slack.share(FOLD)), "{}", slack.share(FOLD));
}

#[test]
fn players_have_a_slack_after_every_chunk() {
    const WORK: u64 = 100 * MILLISECOND;
    for (scenario, requests) in [(Scenario::Mp3, 3..9), (Scenario::Mpeg, 4..8)] {
        let slack = Slack::of(scenario);
        // Longer than the transfer of any chunk: after every four to eight requests.
        let between = (1.0 / slack.share(WORK)) as u64;
        assert!(requests.contains(&between), "{scenario}: {between}");
        assert!(slack.share(5 * SECOND) == 0.0, "{scenario}");
    }
    // The stream of mpeg is steady; the download of mp3 is not.
    let steady = |scenario| {
        let slack = Slack::of(scenario);
        let expected = 160 * MILLISECOND..175 * MILLISECOND;
        let steady = slack.gaps.iter().filter(|gap| expected.contains(gap)).count() as f64;
        steady / slack.gaps.len() as f64 / slack.share(WORK)
    };
    assert!(steady(Scenario::Mpeg) > 0.9, "{}", steady(Scenario::Mpeg));
    assert!(steady(Scenario::Mp3) < 0.1, "{}", steady(Scenario::Mp3));
}

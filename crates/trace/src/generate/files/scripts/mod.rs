//! What the scenarios do, file operation by file operation.

mod ballast;
mod cell_phone;
mod churn;
mod event_recorder;
mod fax;
mod jpeg;
mod player;

use super::{scenario::Scenario, session::Session};
use cell_phone::CellPhone;
use churn::Churn;
use event_recorder::EventRecorder;
use fax::Fax;
use jpeg::Jpeg;
use player::Player;
use std::io;

/// A script; it has no end of its own.
pub(super) trait Script {
    /// One step of bringing the volume to its utilisation; true when it is there.
    fn fill(&mut self, session: &mut Session) -> io::Result<bool>;

    /// One file operation, or a few that belong together, and the time until the next.
    fn step(&mut self, session: &mut Session) -> io::Result<()>;
}

pub(super) fn of(scenario: Scenario) -> Box<dyn Script + Send> {
    match scenario {
        Scenario::S1 => Box::new(Churn::huge()),
        Scenario::S2 => Box::new(Churn::medium()),
        Scenario::S3 => Box::new(Churn::small()),
        Scenario::CellPhone => Box::new(CellPhone::new()),
        Scenario::EventRecorder => Box::new(EventRecorder::new()),
        Scenario::Fax => Box::new(Fax::new()),
        Scenario::Jpeg => Box::new(Jpeg::new()),
        Scenario::Mad => Box::new(Player::mad()),
        Scenario::Mp3 => Box::new(Player::mp3()),
        Scenario::Mpeg => Box::new(Player::mpeg()),
    }
}

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLISECOND;

//! An eMMC's own estimate of its life: two registers, in steps of 10 % (JEDEC JESD84-B51).

use crate::Reading;

const REGISTERS: [&str; 2] = ["LIFE_TIME_EST_TYP_A", "LIFE_TIME_EST_TYP_B"];

/// Reads the larger of the two estimates; its step ends at this many percent.
pub(super) fn read(text: &str, reading: &mut Reading) {
    let of_registers = text.lines().filter(|line| REGISTERS.iter().any(|name| line.contains(name)));
    let words = of_registers.filter_map(|line| line.rsplit_once("]:").map(|(_, value)| value));
    let mut values: Vec<_> = words.filter_map(number).collect();
    if values.is_empty() && !text.contains("EXT_CSD") {
        values = text.split_whitespace().filter_map(number).collect();
    }
    // 0 is not defined, 11 is beyond the end.
    let step = values.into_iter().filter(|step| (1..=11).contains(step)).max();
    reading.life_used = step.map(|step| step as f64 * 10.0);
}

fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

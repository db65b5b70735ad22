//! Readings in order: wraps are undone, resets and counters that stand still are found.

use std::collections::BTreeMap;

use thermocline_units::show_size;

use crate::{
    Count, Imported, MeasuredError, Measurement, Options, Place, Point, Quantity, Reading,
};

/// Widths of counters that begin again at 0.
const WIDTHS: [u32; 3] = [32, 48, 64];
/// Readings of which the counter of the flash stands still in this share while the host writes are named.
const STILL: f64 = 0.1;
/// A counter is coarse if its unit is a larger part of its total.
const COARSE: f64 = 0.01;

/// One value of one counter.
#[derive(Clone, Debug)]
struct Value {
    time: f64,
    bytes: u128,
    place: Place,
}

/// Makes a measurement from readings.
///
/// # Errors
/// Why the readings are no measurement, with the place.
pub fn join(
    readings: Vec<Reading>,
    options: &Options,
    mut notes: Vec<String>,
) -> Result<Imported, MeasuredError> {
    let Some(first) = readings.first().map(|reading| reading.place.clone()) else {
        let place = Place { file: "the input".into(), line: 1 };
        return Err(MeasuredError::input(
            &place,
            "there is nothing in it",
            "name files or folders",
        ));
    };
    let readings = timed(readings, options)?;
    one_drive(&readings)?;
    let host = series(&readings, Quantity::Host, &mut notes)?;
    let physical = series(&readings, Quantity::Physical, &mut notes)?;
    let lives = readings.iter().filter_map(|reading| Some((reading.time?, reading.life_used?)));
    let lives: Vec<_> = lives.collect();
    let physical = moving(&host, physical, &mut notes)?;
    let points = points(&host, &physical, &lives);
    if points.len() < 2 {
        return Err(MeasuredError::input(
            &first,
            "a single reading is no measurement",
            "poll the drive again and again while something writes (`thermocline measured record`)",
        ));
    }
    let counter = |quantity: Quantity| {
        readings.iter().rev().find_map(|reading| Some(reading.count(quantity)?.what.clone()))
    };
    let measurement = Measurement {
        drive: readings.iter().find_map(|reading| reading.drive.clone()),
        counters: [Quantity::Host, Quantity::Physical].into_iter().filter_map(counter).collect(),
        points,
    };
    Ok(Imported { measurement, notes })
}

/// Readings with times, in their order.
fn timed(mut readings: Vec<Reading>, options: &Options) -> Result<Vec<Reading>, MeasuredError> {
    let known = readings.iter().filter(|reading| reading.time.is_some()).count();
    if known < readings.len() {
        let (Some(every), 0) = (options.every, known) else {
            let unknown = readings.iter().find(|reading| reading.time.is_none());
            let place = unknown.unwrap_or(&readings[0]).place.clone();
            return Err(MeasuredError::input(
                &place,
                "the time of this reading is unknown",
                "give the time between two readings by ‹every›, or put the time into the name of each file",
            ));
        };
        // Printouts of several tools follow one another: a repeated quantity begins the next round.
        let (mut round, mut seen) = (0.0, [false; 3]);
        for reading in &mut readings {
            let has =
                [reading.host.is_some(), reading.physical.is_some(), reading.life_used.is_some()];
            if has.iter().zip(seen).any(|(has, seen)| *has && seen) {
                (round, seen) = (round + every, [false; 3]);
            }
            reading.time = Some(round);
            seen.iter_mut().zip(has).for_each(|(seen, has)| *seen |= has);
        }
    }
    readings.sort_by(|a, b| a.time.unwrap_or(0.0).total_cmp(&b.time.unwrap_or(0.0)));
    Ok(readings)
}

fn one_drive(readings: &[Reading]) -> Result<(), MeasuredError> {
    let mut named = readings.iter().filter_map(|one| Some((one.drive.as_ref()?, &one.place)));
    let Some((first, _)) = named.next() else { return Ok(()) };
    match named.find(|(drive, _)| *drive != first) {
        None => Ok(()),
        Some((other, place)) => Err(MeasuredError::input(
            place,
            format!("this is of {other}, and the readings before are of {first}"),
            "import each drive by itself",
        )),
    }
}

/// The values of a counter, rising throughout.
fn series(
    readings: &[Reading],
    quantity: Quantity,
    notes: &mut Vec<String>,
) -> Result<Vec<Value>, MeasuredError> {
    let mut stretches: Vec<Vec<Value>> = vec![Vec::new()];
    let (mut last, mut wrapped): (Option<(Count, Place)>, u128) = (None, 0);
    for reading in readings {
        let (Some(count), Some(time)) = (reading.count(quantity), reading.time) else { continue };
        if let Some((before, at)) = &last {
            if before.unit != count.unit {
                return Err(MeasuredError::input(
                    &reading.place,
                    format!(
                        "{} comes in other units than at {at}: {}, and {}",
                        quantity.column(),
                        before.what,
                        count.what
                    ),
                    "import readings of one tool",
                ));
            }
            if count.raw < before.raw {
                let fell = format!(
                    "{}: {} falls from {} to {} ({at})",
                    reading.place,
                    quantity.column(),
                    before.raw,
                    count.raw
                );
                match width(before.raw, count.raw) {
                    Some(bits) => {
                        notes.push(format!("{fell}: it wrapped at 2^{bits}, and is counted on"));
                        wrapped += 1 << bits;
                    }
                    None => {
                        notes.push(format!("{fell}: it was reset"));
                        wrapped = 0;
                        stretches.push(Vec::new());
                    }
                }
            }
        }
        let bytes = (count.raw + wrapped) * u128::from(count.unit);
        let value = Value { time, bytes, place: reading.place.clone() };
        if let Some(stretch) = stretches.last_mut() {
            stretch.push(value);
        }
        last = Some((count.clone(), reading.place.clone()));
    }
    // Counts across a reset are unknown: the longest stretch is measured.
    let all = stretches.len();
    let rise = |stretch: &Vec<Value>| match (stretch.first(), stretch.last()) {
        (Some(first), Some(last)) => last.bytes - first.bytes,
        _ => 0,
    };
    let longest = stretches.into_iter().rev().max_by_key(rise).unwrap_or_default();
    if let (Some(first), Some(end), true) = (longest.first(), longest.last(), all > 1) {
        notes.push(format!(
            "{}: of {all} stretches between resets the longest is measured, {} to {}",
            quantity.column(),
            first.place,
            end.place
        ));
    }
    if let (Some(first), Some(end), Some((count, _))) = (longest.first(), longest.last(), last) {
        let rise = (end.bytes - first.bytes) as f64;
        if count.unit > 1 && rise > 0.0 && count.unit as f64 > COARSE * rise {
            notes.push(format!(
                "{}: {} counts in steps of {}, and only {:.0} of them were counted; measure longer",
                end.place,
                quantity.column(),
                show_size(count.unit),
                rise / count.unit as f64
            ));
        }
    }
    Ok(longest)
}

/// The width at which a counter begins again, if it fell because of that.
fn width(before: u128, now: u128) -> Option<u32> {
    let near = |bits: &u32| {
        let whole = 1_u128 << bits;
        before < whole && before >= whole - whole / 8 && now < whole / 8
    };
    WIDTHS.into_iter().find(near)
}

/// Without the readings in which the flash's counter stands still while the host writes: the drive has not updated
/// it.
fn moving(
    host: &[Value],
    physical: Vec<Value>,
    notes: &mut Vec<String>,
) -> Result<Vec<Value>, MeasuredError> {
    let (Some(first), Some(last)) = (physical.first().cloned(), physical.last().cloned()) else {
        return Ok(physical);
    };
    let wrote = |from: f64, to: f64| match (at(host, from), at(host, to)) {
        (Some(a), Some(b)) => b.saturating_sub(a),
        _ => 0,
    };
    if last.bytes == first.bytes && wrote(first.time, last.time) > 0 && physical.len() > 1 {
        return Err(MeasuredError::input(
            &last.place,
            format!(
                "physical_bytes stands still at {} since {} though the host wrote {}",
                first.bytes,
                first.place,
                show_size(u64::try_from(wrote(first.time, last.time)).unwrap_or(u64::MAX))
            ),
            "the drive does not count there, or in large steps; measure longer, or import another log",
        ));
    }
    let all = physical.len();
    let mut kept: Vec<Value> = Vec::with_capacity(all);
    let mut still: Option<(Place, usize)> = None;
    for value in physical {
        let stands = kept
            .last()
            .filter(|before| before.bytes == value.bytes && wrote(before.time, value.time) > 0);
        if stands.is_some() {
            still.get_or_insert_with(|| (value.place.clone(), 0)).1 += 1;
        } else {
            kept.push(value);
        }
    }
    if let Some((place, many)) = still.filter(|(_, many)| *many as f64 > STILL * all as f64) {
        let seconds = kept.last().map_or(0.0, |last| last.time - first.time);
        notes.push(format!(
            "{place}: physical_bytes stands still in {many} of {all} readings while the host writes: the drive \
             updates it every {:.0} s or so; these readings are left out",
            seconds / (kept.len().max(2) - 1) as f64
        ));
    }
    Ok(kept)
}

/// A counter at a time, interpolated between two readings; `None` outside of them.
fn at(values: &[Value], time: f64) -> Option<u128> {
    let after = values.iter().position(|value| value.time >= time)?;
    let next = &values[after];
    if next.time == time || after == 0 {
        return (next.time == time).then_some(next.bytes);
    }
    let before = &values[after - 1];
    let share = (time - before.time) / (next.time - before.time);
    Some(before.bytes + ((next.bytes - before.bytes) as f64 * share) as u128)
}

/// Points at which all counted quantities are known.
fn points(host: &[Value], physical: &[Value], lives: &[(f64, f64)]) -> Vec<Point> {
    // The flash's counter is read, and updated, less often.
    let times: Vec<f64> = match (host.is_empty(), physical.is_empty()) {
        (_, false) => physical.iter().map(|value| value.time).collect(),
        (false, true) => host.iter().map(|value| value.time).collect(),
        (true, true) => lives.iter().map(|(time, _)| *time).collect(),
    };
    // Of several readings at one time the last counts.
    let mut all: BTreeMap<u64, (f64, Option<u128>, Option<u128>)> = BTreeMap::new();
    for time in times {
        let (wrote, programmed) = (at(host, time), at(physical, time));
        let missing =
            (!host.is_empty() && wrote.is_none()) || (!physical.is_empty() && programmed.is_none());
        if !missing {
            all.insert((time * 1000.0) as u64, (time, wrote, programmed));
        }
    }
    let Some(first) = all.values().next().copied() else { return Vec::new() };
    let since =
        |now: Option<u128>, then: Option<u128>| u64::try_from(now?.saturating_sub(then?)).ok();
    let life = |time: f64| lives.iter().rev().find(|(at, _)| *at <= time).map(|(_, life)| *life);
    let point = |(time, wrote, programmed): (f64, Option<u128>, Option<u128>)| Point {
        seconds: ((time - first.0) * 1000.0).round() / 1000.0,
        host_bytes: since(wrote, first.1),
        physical_bytes: since(programmed, first.2),
        life_used_percent: life(time),
    };
    all.into_values().map(point).collect()
}

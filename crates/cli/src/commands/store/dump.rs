//! `thermocline dump`: what stands on a chip, as it stands there.

use std::fmt::Write;

use serde::Serialize;
use thermocline_assembly::{
    Access,
    chips::{self, Opened},
    demand_paged::BesidePage,
};
use thermocline_flash::{BlockId, Condition, Flash, FlashError, Geometry, Lpn, Oob};
use thermocline_ftl::{
    Holds, Mount,
    index::{self, Entry, Record},
};
use thermocline_policy::preset::LayerKind;

use crate::{
    args::store::{DumpArgs, DumpWhat},
    exit::Failure,
    output::Output,
    print::{json, table::Sheet},
};

/// Prints the requested part.
pub fn run(args: &DumpArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let opened = chips::open(&args.chip.chip, &Access::read_only())?;
    let json = args.chip.json;
    match args.what {
        DumpWhat::Device => device(&opened, json, output),
        DumpWhat::Index => log(opened, json, output),
        DumpWhat::Block { block } => show_block(opened, block, json, output),
        DumpWhat::Page { block, page } => show_page(opened, block, page, json, output),
        DumpWhat::Map { first, count } => map(opened, first, count, json, output),
    }
}

/// The device as a profile, with what to say to the simulator beside it.
fn device(opened: &Opened, as_json: bool, output: Output) -> Result<(), Failure> {
    let profile = &opened.device.profile;
    if as_json {
        return json::print(profile, output);
    }
    let text = format!(
        "# What a server does with this chip, `run` does with a recording of it:\n\
         #   thermocline run --device THIS-FILE --capacity {} --logical-pages {} \\\n\
         #     --fill none --absolute --clock arrivals --time-scale {}ns --policy NAME --trace RECORDING\n\n{}",
        profile.geometry.capacity(),
        opened.summary.logical_pages,
        opened.device.time_scale_ns(),
        chips::profile_text(profile)?
    );
    output.put(text.as_bytes())
}

/// A page of the index log.
#[derive(Debug, Serialize)]
struct LogPage {
    block: u32,
    page: u32,
    time: u64,
    kind: String,
    sequence: u64,
    first: u32,
    count: u32,
    checkpoint: u32,
    says: String,
}

fn log(mut opened: Opened, as_json: bool, output: Output) -> Result<(), Failure> {
    let entries = index::entries(&mut *opened.chip).map_err(Failure::failed)?;
    let geometry = *opened.chip.geometry();
    let pages: Vec<LogPage> = entries.iter().map(|entry| log_page(&geometry, entry)).collect();
    if as_json {
        return json::print(&pages, output);
    }
    let mut sheet = Sheet::new(
        &["block", "page", "sequence", "kind", "first", "count", "checkpoint", "says"],
        &output,
    );
    sheet.align_right(0..=2);
    for page in pages {
        sheet.row([
            page.block.to_string(),
            page.page.to_string(),
            page.sequence.to_string(),
            page.kind,
            page.first.to_string(),
            page.count.to_string(),
            page.checkpoint.to_string(),
            page.says,
        ]);
    }
    output.put_styled(&sheet.finish())
}

fn log_page(geometry: &Geometry, entry: &Entry) -> LogPage {
    let (block, page) = (geometry.block_of(entry.at).0, geometry.page_of(entry.at));
    let Some((header, record)) = &entry.record else {
        return LogPage {
            block,
            page,
            time: entry.time,
            kind: "unreadable".into(),
            sequence: 0,
            first: 0,
            count: 0,
            checkpoint: 0,
            says: String::new(),
        };
    };
    let runs = |runs: &[(u32, u32)]| {
        let pages: u64 = runs.iter().map(|(_, length)| u64::from(*length)).sum();
        format!("{pages} pages in {} runs", runs.len())
    };
    let says = match record {
        Record::Head(head) => format!(
            "checkpoint {} is complete, {} intervals are known",
            head.complete.checkpoint,
            head.known.len()
        ),
        Record::Trims(trims) => runs(trims),
        Record::Absent(absent) => runs(absent),
        Record::Blocks(_, blocks) => format!("{} blocks", blocks.len()),
        Record::Map(map) => format!("{} pages", map.len()),
        Record::Clean(complete, _) => format!("checkpoint {} says it all", complete.checkpoint),
        Record::Lost(lost) => format!("lost: {}", runs(lost)),
        Record::Rewritten(runs) => format!("{} runs of pages are written back", runs.len()),
        Record::Erased(numbers) => format!("{} pages were erased", numbers.len()),
        Record::InUse(known) => {
            format!("from here on not all is written; {} intervals are known", known.len())
        }
    };
    LogPage {
        block,
        page,
        time: entry.time,
        kind: format!("{:?}", header.kind),
        sequence: header.sequence,
        first: header.first,
        count: header.count,
        checkpoint: header.checkpoint,
        says,
    }
}

/// The out-of-band area of a page.
#[derive(Debug, Serialize)]
struct Area {
    page: u32,
    /// `blank`, `data`, `index` or `unreadable`.
    holds: &'static str,
    lpn: Option<u32>,
    stream: Option<u8>,
    sequence: Option<u64>,
    /// By the layer's clock, in nanoseconds.
    time: Option<u64>,
    note: Option<u16>,
    /// Programs recorded as durable: in pages of a demand-paged store.
    lasting: Option<(u64, u64)>,
}

fn area(opened: &mut Opened, block: BlockId, page: u32) -> Result<Area, Failure> {
    let at = opened.chip.geometry().ppn(block, page);
    let (holds, oob): (_, Option<Oob>) = match opened.chip.read_oob(at) {
        Ok(None) => ("blank", None),
        Ok(Some(oob)) if oob.lpn == Lpn::NONE => ("index", Some(oob)),
        Ok(Some(oob)) => ("data", Some(oob)),
        Err(FlashError::Unreadable(_)) => ("unreadable", None),
        Err(e) => return Err(Failure::failed(e)),
    };
    let is_demand_paged = holds == "data" && opened.kind() == LayerKind::DemandPaged;
    let beside = oob.as_ref().filter(|_| is_demand_paged).map(BesidePage::of);
    let number = |oob: Oob| index::program_number(oob.sequence);
    Ok(Area {
        page,
        holds,
        lpn: oob.map(|oob| oob.lpn.0).filter(|_| holds == "data"),
        stream: oob.map(|oob| oob.stream),
        sequence: beside.map(|beside| beside.number).or(oob.map(number)),
        time: beside.map(|beside| beside.time_ns).or(oob.map(|oob| oob.time)),
        note: oob.map(|oob| oob.note),
        lasting: beside.and_then(|beside| beside.lasting),
    })
}

fn block_in(opened: &Opened, block: u32) -> Result<BlockId, Failure> {
    let blocks = opened.chip.geometry().blocks();
    if block < blocks {
        return Ok(BlockId(block));
    }
    Err(Failure::usage(format!("there is no block {block}: the chip has {blocks}, from 0 on")))
}

fn show_block(
    mut opened: Opened,
    block: u32,
    as_json: bool,
    output: Output,
) -> Result<(), Failure> {
    #[derive(Debug, Serialize)]
    struct Block {
        block: u32,
        erases: u32,
        bad: bool,
        pages: Vec<Area>,
    }
    let id = block_in(&opened, block)?;
    let geometry = *opened.chip.geometry();
    let shown = Block {
        block,
        erases: opened.chip.erase_count(id),
        bad: opened.chip.is_bad(id),
        pages: (geometry.header_pages..geometry.pages_per_block)
            .map(|page| area(&mut opened, id, page))
            .collect::<Result<_, _>>()?,
    };
    if as_json {
        return json::print(&shown, output);
    }
    let mut sheet = Sheet::new(
        &["page", "holds", "lpn", "stream", "sequence", "time", "note", "lasting"],
        &output,
    );
    sheet.align_right(2..=7);
    for area in &shown.pages {
        let show = |figure: Option<u64>| figure.map_or(String::new(), |n| n.to_string());
        sheet.row([
            area.page.to_string(),
            area.holds.to_owned(),
            show(area.lpn.map(u64::from)),
            show(area.stream.map(u64::from)),
            show(area.sequence),
            show(area.time),
            show(area.note.map(u64::from)),
            area.lasting.map_or(String::new(), |(from, to)| format!("{from}..{to}")),
        ]);
    }
    let state = if shown.bad { ", bad" } else { "" };
    let head = format!("block {block}, erased {} times{state}\n", shown.erases);
    output.put_styled(&(head + &sheet.finish()))
}

fn show_page(
    mut opened: Opened,
    block: u32,
    page: u32,
    as_json: bool,
    output: Output,
) -> Result<(), Failure> {
    #[derive(Debug, Serialize)]
    struct Shown {
        block: u32,
        area: Area,
        /// In hexadecimal; absent where the page cannot be read.
        bytes: Option<String>,
    }
    let id = block_in(&opened, block)?;
    let geometry = *opened.chip.geometry();
    if page >= geometry.pages_per_block {
        return Err(Failure::usage(format!(
            "there is no page {page}: a block has {}, from 0 on",
            geometry.pages_per_block
        )));
    }
    if page < geometry.header_pages {
        return Err(Failure::usage(format!(
            "page {page} is a header page: it holds what stands beside the other pages, which `dump IMAGE \
             block {block}` shows; data begin at page {}",
            geometry.header_pages
        )));
    }
    let mut payload = vec![0; geometry.page_size as usize];
    let is_read = match opened.chip.read(geometry.ppn(id, page), &mut payload) {
        Ok(()) => true,
        Err(FlashError::Unreadable(_)) => false,
        Err(e) => return Err(Failure::failed(e)),
    };
    let area = area(&mut opened, id, page)?;
    if as_json {
        let hex = || payload.iter().map(|byte| format!("{byte:02x}")).collect();
        return json::print(&Shown { block, area, bytes: is_read.then(hex) }, output);
    }
    let mut text = format!("block {block}, page {page}: {}", area.holds);
    if let (Some(lpn), Some(sequence)) = (area.lpn, area.sequence) {
        let _ = write!(text, ", logical page {lpn}, sequence {sequence}");
    }
    text.push('\n');
    text += &if is_read { hex_dump(&payload) } else { "cannot be read\n".into() };
    output.put(text.as_bytes())
}

/// Sixteen bytes a line, equal lines in one.
fn hex_dump(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut before: Option<&[u8]> = None;
    let mut skipped = false;
    for (number, row) in bytes.chunks(16).enumerate() {
        if before == Some(row) {
            if !std::mem::replace(&mut skipped, true) {
                text += "*\n";
            }
            continue;
        }
        (before, skipped) = (Some(row), false);
        let hex: Vec<String> = row.iter().map(|byte| format!("{byte:02x}")).collect();
        let plain: String = row
            .iter()
            .map(|&byte| if byte.is_ascii_graphic() || byte == b' ' { byte as char } else { '.' })
            .collect();
        let _ = writeln!(text, "{:06x}  {:<47}  {plain}", number * 16, hex.join(" "));
    }
    let _ = writeln!(text, "{:06x}", bytes.len());
    text
}

fn map(
    opened: Opened,
    first: u32,
    count: u32,
    as_json: bool,
    output: Output,
) -> Result<(), Failure> {
    #[derive(Debug, Serialize)]
    struct Mapped {
        lpn: u32,
        block: Option<u32>,
        page: Option<u32>,
        lost: bool,
    }
    let (mut layer, _) = opened.mount(Mount::Quick)?;
    let geometry = *layer.chip().geometry();
    let pages = layer.logical_pages();
    if first >= pages {
        return Err(Failure::usage(format!(
            "there is no logical page {first}: the chip has {pages}, from 0 on"
        )));
    }
    let mapped: Vec<Mapped> = (first..first.saturating_add(count).min(pages))
        .map(|lpn| {
            let at = layer.find(Lpn(lpn));
            let at = (at != thermocline_flash::Ppn::NONE).then_some(at);
            Mapped {
                lpn,
                block: at.map(|at| geometry.block_of(at).0),
                page: at.map(|at| geometry.page_of(at)),
                lost: layer.inspect().holds(Lpn(lpn)) == Holds::Lost,
            }
        })
        .collect();
    if as_json {
        return json::print(&mapped, output);
    }
    let mut sheet = Sheet::new(&["lpn", "block", "page"], &output);
    sheet.align_right(0..=2);
    for page in mapped {
        let nowhere = if page.lost { "lost" } else { "-" };
        let show = |n: Option<u32>| n.map_or(nowhere.to_owned(), |n| n.to_string());
        sheet.row([page.lpn.to_string(), show(page.block), show(page.page)]);
    }
    output.put_styled(&sheet.finish())
}

//! `thermocline sweep`: a grid of settings as one long table.

use std::{
    collections::HashSet,
    io::IsTerminal,
    path::{Path, PathBuf},
};

use thermocline_report::{
    fleet as pictured,
    sweep::{self, Searched, Tried},
};
use thermocline_sim::SimError;
use thermocline_study::{
    Door,
    settings::sweep::SweepSettings,
    sweep::{Asked, Inputs, Session, search},
    volumes::{PerVolume, summed},
};
use thermocline_sweep::{Cell, Store, Table};

use crate::{
    args::{
        settings::SweptArgs,
        sweep::{SweepArgs, TableFormat},
    },
    console::Console,
    exit::Failure,
    output::Output,
    pictures::{self, Pictures},
    print::{
        fleet, number,
        rows::Rows,
        sweep as people,
        table::{USUAL_WIDTH, wrap},
    },
};

/// The exit code where a simulation failed, or a search found nothing.
const INCOMPLETE: u8 = 1;
/// Where results are kept beside the output, and without one.
const STORE: &str = "store";
const STORE_HERE: &str = "thermocline.store";
/// Remarks on single simulations that are printed.
const NOTES_SHOWN: usize = 5;

/// Runs the cells that are not in the store, and prints a row for each cell of the grid.
pub fn run(args: SweepArgs, console: Console) -> Result<(), Failure> {
    let SweepArgs { file, seeds, jobs, store, shard, until, tolerance, format, output, .. } = args;
    let SweepArgs { per_volume, which, swept: SweptArgs(mut swept), .. } = args;
    let file = file.or_else(|| swept.take_file());
    let settings = SweepSettings { file, seeds, until, tolerance, swept };
    let asked = Asked::of(&settings)?;
    let inputs = if settings.until.is_some() { Inputs::that_stay() } else { Inputs::default() };
    let store = Store::open(&store_folder(store, output.as_deref()))?;
    let pictures = Pictures::open(&args.pictures)?;
    let volumes = PerVolume::of(which.0);
    let context = console.context().with_traces(&volumes);
    let mut session = Session::new(&store, &inputs, jobs, context);
    let table = Table::new(asked.options());
    if let Some(condition) = &settings.until {
        let rows = output.as_deref().map(|path| Rows::open(form(format, path), Some(path), table));
        let rows = rows.transpose()?;
        let found = match search(condition, &asked, &mut session) {
            Ok(found) => found,
            Err((error, cells)) => {
                return ended(Err(error), &cells, &session, console).map(drop);
            }
        };
        if let Some(rows) = rows {
            print(&found.tried, &session, rows)?;
        }
        let sentences = found.searched.sentences.join("\n") + "\n";
        Output::open(None)?.put(sentences.as_bytes())?;
        show(&found.tried, &session, Some(&found.searched), pictures)?;
        return if found.complete { Ok(()) } else { Err(Failure::Told(INCOMPLETE)) };
    }
    let stdout = Path::new("-");
    let format = form(format, output.as_deref().unwrap_or(stdout));
    // What cannot be written shows now, not after the work.
    let (rows, sheet) = match format {
        TableFormat::Table => (None, Some(Output::open(output.as_deref())?)),
        _ => (Some(Rows::open(format, output.as_deref(), table)?), None),
    };
    let mut cells = asked.cells();
    if per_volume {
        cells = volumes.cells(cells, console.context())?;
    }
    if let Some(shard) = shard {
        cells = cells.drain(shard.range(cells.len())).collect();
    }
    let whole = ended(session.ensure(&cells), &cells, &session, console)?;
    let excluded = if per_volume { leave_out(&mut cells, &volumes, &session, console) } else { 0 };
    if let Some(rows) = rows {
        print(&cells, &session, rows)?;
    }
    let width = sheet.as_ref().and_then(Output::width).unwrap_or(USUAL_WIDTH);
    if per_volume {
        let done = summed(&cells, &volumes, |cell| session.result(cell), excluded);
        if let Some(sheet) = sheet {
            sheet.put_styled(&fleet::combinations(&done, width))?;
        }
        let fleet = done.pictured(String::new());
        pictures
            .write(|| pictured::page(&fleet, &pictures::repeat()), || pictured::charts(&fleet))?;
    } else {
        if let Some(sheet) = sheet {
            let mut text = people::show(&cells, |cell| session.result(cell), width);
            let knees = sweep::load_knees(&tried(&cells, &session));
            knees.iter().for_each(|knee| text += &wrap(&format!("{knee}\n"), width));
            sheet.put_styled(&text)?;
        }
        show(&cells, &session, None, pictures)?;
    }
    match whole {
        true => Ok(()),
        false => Err(Failure::Told(INCOMPLETE)),
    }
}

/// Leaves out volumes that are too small for any combination, so that all have the same volumes, and prints their
/// number: the rule of `compare --per-volume`.
fn leave_out(
    cells: &mut Vec<Cell>,
    volumes: &PerVolume,
    session: &Session<'_>,
    console: Console,
) -> usize {
    let name = |cell: &Cell| cell.settings.value("trace").unwrap_or_default();
    let all = cells.iter().map(name).collect::<HashSet<_>>().len();
    let small: HashSet<_> =
        cells.iter().filter(|cell| session.is_left_out(cell)).map(name).collect();
    cells.retain(|cell| !small.contains(&name(cell)));
    let excluded = small.len();
    if excluded > 0 {
        console.note(&Door::CommandLine.words(&volumes.about_small(excluded, all)));
    }
    excluded
}

/// The form of the table: the one asked for; else one for people where a person looks.
fn form(asked: Option<TableFormat>, output: &Path) -> TableFormat {
    let looked_at = || *output == *Path::new("-") && std::io::stdout().is_terminal();
    asked.unwrap_or_else(|| if looked_at() { TableFormat::Table } else { TableFormat::Csv })
}

/// Writes a row for each cell.
fn print(cells: &[Cell], session: &Session<'_>, mut rows: Rows) -> Result<(), Failure> {
    for cell in cells {
        rows.write(&cell.settings, session.result(cell))?;
    }
    rows.finish()
}

/// Draws what came of the cells.
fn show(
    cells: &[Cell],
    session: &Session<'_>,
    searched: Option<&Searched>,
    pictures: Pictures,
) -> Result<(), Failure> {
    let tried = || tried(cells, session);
    pictures.write(
        || sweep::page(&tried(), searched, &pictures::repeat()),
        || sweep::charts(&tried(), searched),
    )
}

/// The cells that have a result.
fn tried(cells: &[Cell], session: &Session<'_>) -> Vec<Tried> {
    let result = |cell: &Cell| {
        let settings = cell.settings.0.iter();
        let value = |value: Option<&String>| value.cloned().unwrap_or_else(|| "yes".into());
        let settings = settings.map(|s| (s.option.clone(), value(s.value.as_ref()))).collect();
        Some(Tried { settings, result: session.result(cell).ok()? })
    };
    cells.iter().filter_map(result).collect()
}

/// Prints notes on the work. Returns whether every cell has a result.
fn ended(
    ended: Result<(), SimError>,
    cells: &[Cell],
    session: &Session<'_>,
    console: Console,
) -> Result<bool, Failure> {
    let folder = session.store().folder().display();
    if let Err(error) = ended {
        if matches!(error, SimError::Interrupted) {
            console.note(&format!(
                "{} of {} are in {folder}; the same command goes on from there",
                session.kept(cells),
                number::counted(cells.len() as u64, "result")
            ));
        }
        return Err(error.into());
    }
    let notes = session.notes();
    notes.iter().take(NOTES_SHOWN).for_each(|note| console.note(note));
    if let Some(more @ 1..) = notes.len().checked_sub(NOTES_SHOWN) {
        console.note(&format!("{} more like these", number::grouped(more as u64)));
    }
    let computed = session.computed();
    console.remark(&format!(
        "{}, {} computed now; {folder} keeps them",
        number::counted(cells.len() as u64, "result"),
        number::grouped(computed as u64)
    ));
    Ok(cells.iter().all(|cell| session.failure(cell).is_none()))
}

/// Where results are kept.
fn store_folder(asked: Option<PathBuf>, output: Option<&Path>) -> PathBuf {
    match (asked, output.filter(|path| *path != Path::new("-"))) {
        (Some(folder), _) => folder,
        (None, Some(output)) => {
            let mut name = output.as_os_str().to_owned();
            name.push(".");
            name.push(STORE);
            name.into()
        }
        (None, None) => STORE_HERE.into(),
    }
}

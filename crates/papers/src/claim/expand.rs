//! Expands a claim of a file into one claim a cell.

use super::{
    Claim, Statement,
    table::{Layout, Table},
};
use crate::{
    axes::{Axes, Cell, Selection},
    error::Wrong,
    measure::Measure,
    raw,
    tolerance::Tolerance,
};

/// The context of a claim.
pub(crate) struct Scope<'a> {
    /// The experiment's name.
    pub experiment: &'a str,
    pub axes: &'a Axes,
    pub measures: &'a [Measure],
    /// Cells that do not exist.
    pub without: &'a [Selection],
}

impl Scope<'_> {
    fn has(&self, cell: &Cell) -> bool {
        !self.without.iter().any(|none| none.holds(cell))
    }
}

/// All claims that one claim of a file represents.
pub(crate) fn expand(raw: &raw::Claim, scope: &Scope<'_>) -> Result<Vec<Claim>, Wrong> {
    let known = scope.measures.iter().map(|measure| measure.name.as_str());
    if !scope.measures.iter().any(|measure| measure.name == raw.measure) {
        return Err(Wrong::unknown("measure", &raw.measure, known));
    }
    let selection = scope.axes.select(&raw.at).map_err(|wrong| wrong.within("at"))?;
    let table = raw.published.is_some() || raw.reference.is_some();
    let (range, mean) = (raw.published_range.is_some(), raw.published_mean.is_some());
    let kinds = [table, range, mean, raw.order.is_some(), raw.trend.is_some()];
    if kinds.iter().filter(|is| **is).count() != 1 {
        return Err(Wrong::new(
            "what does it claim?",
            "write one of `published`, `published-range`, `published-mean`, `order` and `trend`",
        ));
    }
    let number = table || range || mean;
    belongs("along", raw.along.is_some(), !number, "order and trends")?;
    belongs("over", raw.over.is_some(), range || mean, "ranges and means")?;
    belongs("rows", raw.rows.is_some(), table, "numbers")?;
    belongs("columns", raw.columns.is_some(), table, "numbers")?;
    belongs("direction", raw.direction.is_some(), raw.published.is_some(), "published numbers")?;
    belongs("reference-range", raw.reference_range.is_some(), range, "published ranges")?;
    belongs("reference-mean", raw.reference_mean.is_some(), mean, "published means")?;
    if raw.unreachable.is_some() && raw.remark.is_some() {
        return Err(Wrong::new("`unreachable` and `remark` are two reasons", "leave one out"));
    }
    let referred = [raw.reference.is_some(), raw.reference_range.is_some()];
    let referred = referred.contains(&true) || raw.reference_mean.is_some();
    belongs("band", raw.band.is_some(), referred, "references")?;
    let claims = match () {
        () if table => numbers(raw, scope, &selection)?,
        () if range => ranges(raw, scope, &selection)?,
        () if mean => means(raw, scope, &selection)?,
        () => sequences(raw, scope, &selection)?,
    };
    if claims.is_empty() {
        return Err(Wrong::new("it is about no cell", "correct `at`, `without` or the numbers"));
    }
    Ok(claims)
}

/// Refuses a field that would be ignored.
fn belongs(field: &str, given: bool, here: bool, to: &str) -> Result<(), Wrong> {
    match given && !here {
        true => Err(Wrong::new(
            format!("`{field}` belongs to claims of {to}, and this is none"),
            "leave it out",
        )),
        false => Ok(()),
    }
}

fn numbers(
    raw: &raw::Claim,
    scope: &Scope<'_>,
    selection: &Selection,
) -> Result<Vec<Claim>, Wrong> {
    let axis = |field: &str, name: &Option<String>| {
        let position = name.as_deref().map(|name| scope.axes.position(name)).transpose();
        position.map_err(|wrong| wrong.within(field))
    };
    let rows = axis("rows", &raw.rows)?;
    let columns = axis("columns", &raw.columns)?;
    let direction = axis("direction", &raw.direction)?;
    let layout = Layout { rows, columns };
    let table = |field: &str, value: &Option<toml::Value>| {
        let table = value.as_ref().map(|v| Table::parse(v, layout, scope.axes, selection));
        table.transpose().map_err(|wrong| wrong.within(field))
    };
    let published = table("published", &raw.published)?;
    let reference = table("reference", &raw.reference)?;
    let tolerance = published.as_ref().map(|_| tolerance(raw)).transpose()?;
    let band = reference.as_ref().map(|_| band(raw)).transpose()?;
    let printed = |cell: &Cell| published.as_ref().and_then(|table| table.of(cell));
    let cells: Vec<_> = selection.cells(&[]).into_iter().filter(|cell| scope.has(cell)).collect();
    let mut claims = Vec::new();
    for cell in &cells {
        let reference = reference.as_ref().and_then(|table| table.of(cell)).zip(band.clone());
        let published = printed(cell).zip(tolerance.clone());
        if published.is_none() && reference.is_none() {
            continue;
        }
        let others = direction.map(|axis| {
            let values = selection.0[axis].iter().filter(|value| **value != cell.0[axis]);
            let others = values.map(|value| cell.with(axis, *value));
            let others = others.filter(|other| scope.has(other));
            others.filter_map(|other| printed(&other).map(|n| (other, n))).collect()
        });
        let others = if published.is_some() { others } else { None };
        let statement = Statement::Number { cell: cell.clone(), published, others, reference };
        claims.push(claim(raw, scope, "", cell, &[], statement));
    }
    Ok(claims)
}

fn ranges(raw: &raw::Claim, scope: &Scope<'_>, selection: &Selection) -> Result<Vec<Claim>, Wrong> {
    let published = raw.published_range.unwrap_or_default();
    for range in [Some(published), raw.reference_range].into_iter().flatten() {
        if range[0] > range[1] {
            return Err(Wrong::new("a range's least is its greatest", "turn the two round"));
        }
    }
    let tolerance = tolerance(raw)?;
    let reference = raw.reference_range.map(|range| Ok((range, band(raw)?))).transpose()?;
    over(raw, scope, selection, "range of", |cells| {
        let (tolerance, reference) = (tolerance.clone(), reference.clone());
        Statement::Range { cells, published, tolerance, reference }
    })
}

fn means(raw: &raw::Claim, scope: &Scope<'_>, selection: &Selection) -> Result<Vec<Claim>, Wrong> {
    let published = raw.published_mean.unwrap_or_default();
    let tolerance = tolerance(raw)?;
    let reference = raw.reference_mean.map(|mean| Ok((mean, band(raw)?))).transpose()?;
    over(raw, scope, selection, "mean over", |cells| {
        let (tolerance, reference) = (tolerance.clone(), reference.clone());
        Statement::Mean { cells, published, tolerance, reference }
    })
}

/// A claim about all cells along some axes, for every choice of the others.
fn over(
    raw: &raw::Claim,
    scope: &Scope<'_>,
    selection: &Selection,
    kind: &str,
    statement: impl Fn(Vec<Cell>) -> Statement,
) -> Result<Vec<Claim>, Wrong> {
    let Some(over) = &raw.over else {
        return Err(Wrong::new("over what?", "name the axes it spans: over = \"…\""));
    };
    let axes = over.names().iter().map(|name| scope.axes.position(name));
    let axes = axes.collect::<Result<Vec<_>, _>>().map_err(|wrong| wrong.within("over"))?;
    let kind = format!("{kind} {}", over.names().join(", "));
    let all = selection.cells(&[]);
    let groups = selection.cells(&axes).into_iter().map(|first| {
        let same = |axis: usize, cell: &Cell| cell.0[axis] == first.0[axis];
        let along =
            |cell: &Cell| (0..cell.0.len()).all(|axis| axes.contains(&axis) || same(axis, cell));
        let cells = all.iter().filter(|cell| along(cell) && scope.has(cell));
        (cells.cloned().collect::<Vec<_>>(), first)
    });
    let groups = groups.filter(|(cells, _)| !cells.is_empty());
    Ok(groups
        .map(|(cells, first)| claim(raw, scope, &kind, &first, &axes, statement(cells)))
        .collect())
}

fn sequences(
    raw: &raw::Claim,
    scope: &Scope<'_>,
    selection: &Selection,
) -> Result<Vec<Claim>, Wrong> {
    let Some(along) = raw.along.as_deref() else {
        return Err(Wrong::new("an order of what?", "name the axis it is along: along = \"…\""));
    };
    let axis = scope.axes.position(along).map_err(|wrong| wrong.within("along"))?;
    let tolerance = match &raw.tolerance {
        Some(text) => Tolerance::parse(text).map_err(|wrong| wrong.within("tolerance"))?,
        None if raw.trend == Some(super::Trend::Flat) => {
            return Err(Wrong::new("how flat is flat?", "write a `tolerance`, such as \"5%\""));
        }
        None => Tolerance::parse("exact")?,
    };
    let order = match &raw.order {
        None => selection.0[axis].clone(),
        Some(names) => {
            let positions = names.iter().map(|name| scope.axes.0[axis].position(name));
            positions.collect::<Result<Vec<_>, _>>().map_err(|wrong| wrong.within("order"))?
        }
    };
    if order.len() < 2 {
        return Err(Wrong::new("an order is of two at least", "name more"));
    }
    let kind = match raw.trend {
        Some(_) => format!("along {along}"),
        None => format!("order of {along}"),
    };
    let groups = groups(scope, selection, axis, &order);
    Ok(groups
        .filter(|(_, cells)| cells.len() > 1)
        .map(|(first, cells)| {
            let tolerance = tolerance.clone();
            let statement = match raw.trend {
                Some(trend) => Statement::Trend { cells, trend, tolerance },
                None => Statement::Order { cells, tolerance },
            };
            claim(raw, scope, &kind, &first, &[axis], statement)
        })
        .collect())
}

/// For every choice of the other axes, the cells along one axis, in this order.
fn groups<'a>(
    scope: &'a Scope<'_>,
    selection: &'a Selection,
    axis: usize,
    order: &'a [usize],
) -> impl Iterator<Item = (Cell, Vec<Cell>)> + 'a {
    selection.cells(&[axis]).into_iter().filter_map(move |first| {
        let along = order.iter().map(|value| first.with(axis, *value));
        let cells: Vec<_> = along.filter(|cell| scope.has(cell)).collect();
        (!cells.is_empty()).then_some((first, cells))
    })
}

fn tolerance(raw: &raw::Claim) -> Result<Tolerance, Wrong> {
    let Some(text) = &raw.tolerance else {
        return Err(Wrong::new("how near is near enough?", "write a `tolerance`, such as \"3%\""));
    };
    let tolerance = Tolerance::parse(text).map_err(|wrong| wrong.within("tolerance"))?;
    if raw.because.is_none() && !tolerance.is_exact() {
        return Err(Wrong::new("a tolerance has a reason", "write it as `because`"));
    }
    Ok(tolerance)
}

fn band(raw: &raw::Claim) -> Result<Tolerance, Wrong> {
    let Some(text) = &raw.band else {
        return Err(Wrong::new("how near to the reference?", "write a `band`, such as \"3%\""));
    };
    Tolerance::parse(text).map_err(|wrong| wrong.within("band"))
}

/// The claim about a cell, or about the cells that differ from it only along the axes in `but`.
fn claim(
    raw: &raw::Claim,
    scope: &Scope<'_>,
    kind: &str,
    cell: &Cell,
    but: &[usize],
    statement: Statement,
) -> Claim {
    let join = |parts: [String; 2], with: &str| {
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(with)
    };
    let subject = raw.name.as_deref().unwrap_or(&raw.measure);
    let place = join([kind.replace(", ", "-").replace(' ', "-"), scope.axes.name(cell, but)], ":");
    let id = join([format!("{}/{subject}", scope.experiment), place], "/");
    Claim {
        id,
        title: join([kind.to_owned(), scope.axes.title(cell, but)], ": "),
        says: raw.says.clone(),
        measure: raw.measure.clone(),
        because: raw.because.clone(),
        unreachable: raw.unreachable.clone(),
        remark: raw.remark.clone(),
        ours: raw.ours,
        part_of: 0,
        statement,
    }
}

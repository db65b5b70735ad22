//! Files: the runs they need, what is refused and with which message, and what is recorded.

mod common;

use common::{HEAD, counted, experiment, report};
use thermocline_papers::{
    Change, Drawing, File, Paper, Plan, Record, Setting, Text,
    page::{self, Part, Piece},
};

const CLAIM: &str = "[[claim]]\nmeasure='cost'\npublished=1\ntolerance='exact'\n";

#[test]
fn settings_of_axes_lie_over_readings_and_these_over_the_run() {
    let text = "title='a'\nsource='b'\nabout='c'\n[run]\na=1\nb=1\nc=1\nd=true\ne=[1,'x']\n\
                [[axis]]\nname='p'\nvalues=[{name='v',c=3,d=false}]\n\
                [measure.cost]\ntitle='c'\nof='cost'\n\
                [[reading]]\nname='r'\nabout='x'\nset={b=2,c=2}\n";
    let experiment = experiment(&format!("{text}{CLAIM}")).expect("good");
    let shown = |readings: bool| {
        let plan = Plan::of([&experiment], readings);
        let run = plan.runs().last().expect("one at least").settings.clone();
        let shown = run.into_iter().map(|(name, setting)| match setting {
            Setting::One(Text::Plain(text)) => format!("{name}={text}"),
            other => format!("{name}={other:?}"),
        });
        shown.collect::<Vec<_>>().join(" ")
    };
    let list = "e=Many([Plain(\"1\"), Plain(\"x\")])";
    assert_eq!(shown(false), format!("a=1 b=1 c=3 {list}"));
    assert_eq!(shown(true), format!("a=1 b=2 c=3 {list}"));
}

#[test]
fn equal_runs_are_run_once_whoever_wants_them() {
    let one = |more: &str| experiment(&format!("{HEAD}{more}{CLAIM}")).expect("good");
    let (plain, seeds) = (one(""), one("[run]\nseeds=2\n"));
    let same = one("[[reading]]\nname='r'\nabout='x'\nset={load=99}\n");
    let other = one("[[reading]]\nname='r'\nabout='x'\nset={more=1}\n");
    let runs = |experiments: &[&_]| Plan::of(experiments.iter().copied(), true).runs().len();
    assert_eq!(runs(&[&plain]), 6);
    assert_eq!(runs(&[&plain, &plain]), 6);
    assert_eq!(runs(&[&seeds]), 12);
    assert_eq!(runs(&[&same]), 6, "the axis lies over the reading");
    assert_eq!(runs(&[&other]), 12);
}

#[test]
fn only_cells_that_are_needed_are_run() {
    let claim = "[[claim]]\nmeasure='saved'\nat={load='low',policy='clever'}\npublished=1\n\
                 tolerance='exact'\n";
    let experiment = experiment(&format!("{HEAD}{claim}")).expect("good");
    let (_, runs) = counted(&experiment, &Record::default());
    assert_eq!(runs, 2, "the cell, and the one it is compared with");
}

#[test]
fn an_experiment_that_claims_nothing_shows_everything() {
    let report = report("");
    let (header, rows) = report.survey().expect("nothing is claimed");
    assert_eq!(header, ["", "Cost", "Saved (%)"]);
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[1], ["low, clever", "30", "25"]);
}

#[test]
fn cells_that_are_left_out_are_not_claimed() {
    let without = "without=[{load=['low','middle'],policy='clever'}]\n";
    let experiment = experiment(&format!("{without}{HEAD}{CLAIM}")).expect("good");
    let (report, runs) = counted(&experiment, &Record::default());
    assert_eq!((report.claims.len(), runs), (4, 4));
}

#[test]
fn a_file_that_is_wrong_is_told_with_its_field_and_the_remedy() {
    let wrong = |claim: &str| experiment(&format!("{HEAD}{claim}")).expect_err(claim);
    for (text, told) in [
        (
            "[[claim]]\nmeasure='x'\npublished=1",
            "claim 1 (of x): there is no measure `x`; take cost or saved",
        ),
        (
            "[[claim]]\nmeasure='cost'",
            "what does it claim?; write one of `published`, `published-range`, `published-mean`, `order` and `trend`",
        ),
        ("[[claim]]\nmeasure='cost'\npublished=1\ntrend='rises'", "what does it claim?"),
        ("[[claim]]\nmeasure='cost'\npublished=1", "how near is near enough?; write a `tolerance`"),
        (
            "[[claim]]\nmeasure='cost'\npublished=1\ntolerance='3%'",
            "a tolerance has a reason; write it as `because`",
        ),
        ("[[claim]]\nmeasure='cost'\npublished=1\ntolerance='3'", "tolerance: `3` is no tolerance"),
        (
            "[[claim]]\nmeasure='cost'\npublished=1\ntolerance='exact'\nreference=1",
            "write a `band`",
        ),
        (
            "[[claim]]\nmeasure='cost'\npublished=1\ntolerance='exact'\nalong='load'",
            "`along` belongs to claims of order and trends",
        ),
        (
            "[[claim]]\nmeasure='cost'\npublished=1\ntolerance='exact'\nband='1%'",
            "`band` belongs to claims of references",
        ),
        (
            "[[claim]]\nmeasure='cost'\nat={load='huge'}\npublished=1\ntolerance='exact'",
            "at, load: there is no value `huge`; take low, middle or high",
        ),
        (
            "[[claim]]\nmeasure='cost'\ncolumns='load'\npublished=[1,2]\ntolerance='exact'",
            "2 numbers for 3 values of `load`",
        ),
        (
            "[[claim]]\nmeasure='cost'\nrows='policy'\npublished.dull=1\ntolerance='exact'",
            "there is no value `dull`; take plain or clever",
        ),
        (
            "[[claim]]\nmeasure='cost'\ncolumns='load'\npublished=[1,2,'x']\ntolerance='exact'",
            "is no number; write a number, or \"-\"",
        ),
        (
            "[[claim]]\nmeasure='cost'\npublished-range=[1,2]\ntolerance='exact'",
            "name the axes it spans",
        ),
        (
            "[[claim]]\nmeasure='cost'\nover='load'\npublished-range=[2,1]\ntolerance='exact'",
            "turn the two round",
        ),
        (
            "[[claim]]\nmeasure='cost'\nover='weather'\npublished-mean=1\ntolerance='exact'",
            "there is no axis `weather`",
        ),
        ("[[claim]]\nmeasure='cost'\nalong='load'\ntrend='flat'", "how flat is flat?"),
        ("[[claim]]\nmeasure='cost'\nalong='load'\norder=['low']", "an order is of two at least"),
        ("[[claim]]\nmeasure='cost'\nsays='x'\nspeed=1", "unknown field `speed`"),
        (
            "[measure.bad]\ntitle='x'\nof='a +'",
            "measure, bad, of: `a +`: a key or a number is missing at the end",
        ),
        (
            "[[figure]]\nname='f'\ntitle='x'\nkind='lines'\nx='load'\nmeasure='cost'",
            "figure f: it does not say which value of `policy` it shows",
        ),
        ("[run]\nseeds=0", "run, seeds: `0` is no number of seeds"),
        ("[run]\nseeds=2\nseed=7", "`seed` and `seeds` contradict each other"),
        ("[run]\na={b=1}", "run, a: an option cannot be set to a table"),
    ] {
        let error = wrong(text);
        assert!(error.starts_with("table.toml: ") && error.contains(told), "{text}\n{error}");
    }
    let twice = format!("{CLAIM}{CLAIM}");
    let told =
        "claim 2 (of cost): there is a claim `table/cost/low,plain` already; give this one a";
    assert!(wrong(&twice).contains(told), "{}", wrong(&twice));
    let line = experiment("title='a'\nsource='b'\nspeed=1\n").expect_err("no such field");
    assert!(line.starts_with("table.toml: line 3: unknown field `speed`"), "{line}");
    let empty = experiment("title='a'\nsource='b'\nabout=''").expect_err("nothing");
    assert!(empty.contains("it measures nothing"), "{empty}");
}

#[test]
fn a_result_without_the_key_is_an_error_that_names_the_cell() {
    let text = format!("{HEAD}{CLAIM}").replace("of = \"cost\"", "of = \"price\"");
    let experiment = experiment(&text).expect("good");
    let plan = Plan::of([&experiment], true);
    let outcomes: Vec<_> = plan
        .runs()
        .iter()
        .map(|run| thermocline_papers::Outcome::Done(common::cost(run)))
        .collect();
    let record = Record::default();
    let error = plan.judge(&outcomes, |_| &record).expect_err("no such key").to_string();
    assert_eq!(
        error,
        "table.toml: measure cost, low,plain: `price` has no value: the result has no key `price`; \
         it has cost; correct the key, or say what it is where it is missing: or = 0"
    );
}

#[test]
fn claims_have_names_that_last() {
    let report = report(
        "[[claim]]\nmeasure='cost'\nat={load='low',policy='plain'}\npublished=1\ntolerance='exact'\n\
         [[claim]]\nname='text'\nmeasure='cost'\nat={load='low',policy='plain'}\npublished=2\n\
         tolerance='exact'\n\
         [[claim]]\nmeasure='cost'\nat={load='low'}\nalong='policy'\norder=['clever','plain']\n\
         [[claim]]\nmeasure='cost'\nat={policy='plain'}\nalong='load'\ntrend='rises'\n\
         [[claim]]\nmeasure='cost'\nat={policy='plain'}\nover='load'\npublished-range=[1,2]\n\
         tolerance='exact'\n\
         [[claim]]\nmeasure='cost'\nover=['load','policy']\npublished-mean=1\ntolerance='exact'",
    );
    let ids: Vec<_> = report.claims.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "table/cost/low,plain",
            "table/text/low,plain",
            "table/cost/order-of-policy:low",
            "table/cost/along-load:plain",
            "table/cost/range-of-load:plain",
            "table/cost/mean-over-load-policy",
        ]
    );
}

#[test]
fn later_runs_are_compared_with_the_accepted_verdicts() {
    let at = |published: u32| {
        let claim = format!(
            "[[claim]]\nmeasure='cost'\nat={{load='low',policy='plain'}}\npublished={published}\n\
             tolerance='exact'"
        );
        experiment(&format!("{HEAD}{claim}")).expect("good")
    };
    let (good, bad) = (at(40), at(50));
    let fresh = counted(&good, &Record::default()).0;
    assert_eq!(fresh.claims[0].change, Some(Change::New));
    let record = Record::default().with(&[fresh], &["table"]);
    let text = record.write();
    assert!(
        text.contains("\"table/cost/low,plain\" = { verdict = \"reproduced\", measured = [40.0] }"),
        "{text}"
    );
    let again = Record::read("verdicts.toml", &text).expect("it reads what it writes");
    assert_eq!(again, record);
    assert_eq!(counted(&good, &again).0.claims[0].change, None);
    assert_eq!(counted(&bad, &again).0.claims[0].change, Some(Change::Worse));
    let text = text.replace("[40.0]", "[40.1]");
    let moved = Record::read("verdicts.toml", &text).expect("a record");
    assert_eq!(counted(&good, &moved).0.claims[0].change, Some(Change::Moved));
    let worse = again.with(&[counted(&bad, &again).0], &["table"]);
    assert_eq!(counted(&good, &worse).0.claims[0].change, Some(Change::Better));
    let elsewhere = experiment(
        &format!("{HEAD}{CLAIM}")
            .replace("measure='cost'", "measure='saved'\nat={load='low',policy='clever'}"),
    );
    let report = counted(&elsewhere.expect("good"), &again).0;
    assert_eq!(report.gone, ["table/cost/low,plain"]);
    assert_eq!(record.with(&[], &[]), Record::default(), "experiments that are gone leave nothing");
    assert_eq!(record.with(&[], &["table"]), record, "those that were not run stay");
}

#[test]
fn a_record_that_was_skipped_stays_what_it_was() {
    let text = |trace: &str| {
        format!("[run]\n{trace}\n{HEAD}[[claim]]\nmeasure='cost'\nat={{load='low',policy='plain'}}\npublished=40\ntolerance='exact'")
            .replace("[run]\ntitle", "title")
    };
    let with = experiment(&format!("{HEAD}[run]\ntrace='traces:a'\n[[claim]]\nmeasure='cost'\nat={{load='low',policy='plain'}}\npublished=40\ntolerance='exact'")).expect("good");
    let without = experiment(&text("").replace("[run]\n", "")).expect("good");
    let record = Record::default().with(&[counted(&without, &Record::default()).0], &["table"]);
    let skipped = counted(&with, &record).0;
    assert_eq!(skipped.claims[0].change, None, "what could not be judged is not worse");
    assert_eq!(record.with(&[skipped], &["table"]), record);
}

#[test]
fn a_page_has_the_words_the_figures_and_the_claims() {
    let figure = "[[figure]]\nname='1'\ntitle='Cost <by> load'\nkind='lines'\nx='load'\n\
                  series='policy'\nmeasure='cost'\n\
                  [[figure]]\nname='2'\ntitle='Cost by policy'\nkind='bars'\nx='policy'\n\
                  panel='load'\nmeasure='cost'\ny-log=true\n";
    let file = |name: &str, text: String| File { name: name.into(), text };
    let info = "name='P'\ntitle='A paper'\nauthors='A. Author'\nyear=1999\nabout='It *works*.'\n\
                today='Never.'";
    let claim = "[[claim]]\nmeasure='cost'\nat={load='low'}\ncolumns='policy'\npublished=[40,70]\n\
                 tolerance='±1'\nbecause='of rounding'\n";
    let files = [
        file("paper.toml", info.into()),
        file("table.toml", format!("{HEAD}{claim}{figure}")),
        file("verdicts.toml", String::new()),
    ];
    let paper = Paper::read("p", "papers/p", &files).expect("a good paper");
    let again = [files[1].clone(), file("table-2.toml", files[1].text.clone())];
    let twice = Paper::read("p", "papers/p", &again).expect_err("two figures of one name");
    let told = "papers/p/table-2.toml: figure: papers/p/table.toml has a figure `1` too";
    assert!(twice.to_string().starts_with(told), "{twice}");
    let experiment = &paper.experiments[0];
    let report = counted(experiment, &paper.record).0;
    let drawings = Drawing::all(experiment, &report).expect("drawn");
    let parts = [Part { experiment, report: &report, drawings: &drawings }];
    let text = page::markdown(&paper, &parts);
    for part in [
        "# A paper\n",
        "A. Author, 1999\n\nIt *works*.",
        "## When it wins today\n\nNever.",
        "| A test | 1 of 2 | – | – | 0 | -57.1 %: Cost, low, clever |",
        "![Cost <by> load (published numbers hollow)](p-1.svg)",
        "| Cost | low, plain | 40 ± 1 |  | 40 |  | reproduced |",
        "|  | low, clever | 70 ± 1 |  | 30 |  | **not** |",
        "- Cost, ±1: of rounding\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let (mut html, mut figures) = (String::new(), Vec::new());
    for piece in page::pieces(&paper, &parts) {
        match piece {
            Piece::Text(text) => html += &page::of_markdown(&text),
            Piece::Figure(_, chart) => figures.push(chart.title),
        }
    }
    assert!(html.contains("It <em>works</em>."), "{html}");
    assert!(figures.len() == 2 && figures[0].contains("Cost <by> load"), "{figures:?}");
    assert_eq!(page::of_markdown("a <b onclick=x>"), "<p>a &lt;b onclick=x&gt;</p>\n");
    // Two lines of three points, and two numbers of the paper as hollow points.
    let hollow = |svg: &str| svg.matches("r=\"6\" opacity=\"1\" fill=\"none\"").count();
    assert_eq!(hollow(&drawings[0].svg), 2, "{}", drawings[0].svg);
    let lines = drawings[0].svg.lines().filter(|line| line.starts_with("<polyline"));
    let coloured = lines.filter(|line| line.contains("#0072B2") || line.contains("#D55E00"));
    assert_eq!(coloured.count(), 2, "{}", drawings[0].svg);
    assert!(drawings[1].svg.contains("plain") && drawings[1].svg.contains("middle"));
}

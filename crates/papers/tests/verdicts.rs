//! Every rule that gives a claim its verdict, with accepted and rejected cases. Costs are: plain
//! 40, 80, 120; clever 30, 60, 90 (25 % saved).

mod common;

use common::{only, report};
use thermocline_papers::{
    Counts, Tally,
    Verdict::{self, Direction, Not, Reproduced, Skipped, Tie, Unreachable},
};

fn verdict(claim: &str) -> Verdict {
    only(claim).verdict.expect("it has a verdict")
}

#[test]
fn a_number_is_reproduced_within_its_tolerance() {
    let claim = |published: f64, tolerance: &str| {
        verdict(&format!(
            "[[claim]]\nmeasure='cost'\nat={{load='low',policy='plain'}}\npublished={published}\n\
             tolerance='{tolerance}'\nbecause='x'"
        ))
    };
    assert_eq!(claim(40.0, "exact"), Reproduced);
    assert_eq!(claim(40.5, "exact"), Not);
    assert_eq!(claim(42.0, "5%"), Reproduced);
    assert_eq!(claim(42.2, "5%"), Not);
    assert_eq!(claim(41.0, "±1"), Reproduced);
    assert_eq!(claim(41.1, "±1"), Not);
}

#[test]
fn a_reduction_that_misses_has_its_sign_for_a_direction() {
    let claim = |published: f64| {
        verdict(&format!(
            "[[claim]]\nmeasure='saved'\nat={{load='low',policy='clever'}}\npublished={published}\n\
             tolerance='±1'\nbecause='x'"
        ))
    };
    assert_eq!(claim(25.0), Reproduced);
    assert_eq!(claim(60.0), Direction);
    assert_eq!(claim(-60.0), Not);
}

#[test]
fn a_ratio_has_its_side_of_one_for_a_direction() {
    let claim = |published: f64| {
        verdict(&format!(
            "[measure.ratio]\ntitle='Ratio'\nof='cost'\nagainst={{policy='plain'}}\nas='ratio'\n\
             [[claim]]\nmeasure='ratio'\nat={{load='low',policy='clever'}}\npublished={published}\n\
             tolerance='exact'"
        ))
    };
    assert_eq!(claim(0.75), Reproduced);
    assert_eq!(claim(0.5), Direction);
    assert_eq!(claim(1.5), Not);
}

/// A table with one row a policy. Both miss their numbers in the first column.
fn table(plain: &str, clever: &str) -> Vec<Verdict> {
    let report = report(&format!(
        "[[claim]]\nmeasure='cost'\nat={{load=['low','high']}}\nrows='policy'\ncolumns='load'\n\
         published.plain={plain}\npublished.clever={clever}\ntolerance='5%'\nbecause='x'\n\
         direction='policy'"
    ));
    report.claims.iter().map(|claim| claim.verdict.expect("a verdict")).collect()
}

#[test]
fn a_table_stands_in_the_order_of_its_axes() {
    assert_eq!(table("[40, 120]", "[30, 90]"), [Reproduced; 4]);
    assert_eq!(table("[120, 40]", "[30, 90]"), [Direction, Reproduced, Not, Reproduced]);
}

#[test]
fn a_number_that_misses_has_the_order_along_the_axis_for_a_direction() {
    // The order of the cells is low plain, low clever, high plain, high clever.
    assert_eq!(table("[60, 120]", "[50, 90]")[..2], [Direction, Direction]);
    assert_eq!(table("[50, 120]", "[60, 90]")[..2], [Not, Not]);
    // Numbers published as nearly equal have no order.
    assert_eq!(table("[60, 120]", "[59, 90]")[..2], [Not, Not]);
}

#[test]
fn a_hole_in_a_table_claims_nothing() {
    assert_eq!(table("['-', 120]", "['–', 90]"), [Reproduced; 2]);
}

#[test]
fn a_range_is_that_of_the_measured_values() {
    let claim = |range: &str, tolerance: &str| {
        verdict(&format!(
            "[[claim]]\nmeasure='cost'\nat={{policy='plain'}}\nover='load'\n\
             published-range={range}\ntolerance='{tolerance}'\nbecause='x'"
        ))
    };
    assert_eq!(claim("[40, 120]", "exact"), Reproduced);
    assert_eq!(claim("[38, 122]", "±2"), Reproduced);
    assert_eq!(claim("[38, 125]", "±2"), Not);
    assert_eq!(claim("[35, 122]", "±2"), Not);
    let saved = |range: &str| {
        verdict(&format!(
            "[[claim]]\nmeasure='saved'\nat={{policy='clever'}}\nover='load'\n\
             published-range={range}\ntolerance='±1'\nbecause='x'"
        ))
    };
    assert_eq!(saved("[25, 25]"), Reproduced);
    assert_eq!(saved("[5, 50]"), Direction);
    assert_eq!(saved("[-5, 50]"), Not);
}

#[test]
fn a_range_spans_several_axes() {
    let claim = |range: &str| {
        verdict(&format!(
            "[[claim]]\nmeasure='cost'\nover=['load','policy']\npublished-range={range}\n\
             tolerance='exact'"
        ))
    };
    assert_eq!(claim("[30, 120]"), Reproduced);
    assert_eq!(claim("[40, 120]"), Not);
    assert_eq!(claim("[30, 90]"), Not);
}

#[test]
fn a_mean_is_that_of_all_cells_along_its_axes() {
    let claim = |over: &str, mean: f64| {
        verdict(&format!(
            "[[claim]]\nmeasure='cost'\nat={{load=['low','high'],policy='plain'}}\nover={over}\n\
             published-mean={mean}\ntolerance='±1'\nbecause='x'"
        ))
    };
    assert_eq!(claim("'load'", 80.0), Reproduced);
    assert_eq!(claim("'load'", 81.0), Reproduced);
    assert_eq!(claim("'load'", 82.0), Not);
    assert_eq!(claim("['load','policy']", 80.0), Reproduced);
    let saved = |mean: f64| {
        verdict(&format!(
            "[[claim]]\nmeasure='saved'\nat={{policy='clever'}}\nover='load'\n\
             published-mean={mean}\ntolerance='±1'\nbecause='x'"
        ))
    };
    assert_eq!([saved(25.5), saved(40.0), saved(-40.0)], [Reproduced, Direction, Not]);
}

#[test]
fn an_order_is_a_tie_where_only_its_tolerance_holds() {
    let claim = |order: &str, more: &str| {
        let report =
            report(&format!("[[claim]]\nmeasure='cost'\nalong='policy'\norder={order}\n{more}"));
        let verdicts: Vec<_> = report.claims.iter().map(|claim| claim.verdict).collect();
        assert_eq!(verdicts.len(), 3, "one for every load");
        verdicts[0]
    };
    assert_eq!(claim("['clever','plain']", ""), Some(Reproduced));
    assert_eq!(claim("['plain','clever']", ""), Some(Not));
    assert_eq!(claim("['plain','clever']", "tolerance='50%'"), Some(Tie));
    assert_eq!(claim("['clever','plain']", "tolerance='50%'"), Some(Reproduced));
    assert_eq!(claim("['plain','clever']", "tolerance='30%'"), Some(Not));
}

#[test]
fn equal_values_confirm_no_order() {
    let claim = |tolerance: &str| {
        verdict(&format!(
            "[[axis]]\nname='way'\nvalues=[{{name='one'}},{{name='other'}}]\n[[claim]]\nmeasure='cost'\n\
             at={{load='low',policy='plain'}}\nalong='way'\norder=['one','other']\n{tolerance}"
        ))
    };
    assert_eq!(claim(""), Not);
    assert_eq!(claim("tolerance='1%'"), Tie);
}

#[test]
fn a_saving_is_not_reproduced_by_a_loss() {
    // 25 % are saved.
    let claim = |statement: &str| {
        verdict(&format!("[[claim]]\nmeasure='saved'\n{statement}\ntolerance='±50'\nbecause='x'"))
    };
    let number = |n: i32| claim(&format!("at={{load='low',policy='clever'}}\npublished={n}"));
    assert_eq!([number(1), number(-1), number(0)], [Reproduced, Not, Reproduced]);
    let over = |what: &str| claim(&format!("at={{policy='clever'}}\nover='load'\n{what}"));
    assert_eq!(over("published-range=[-1, 30]"), Not);
    assert_eq!(over("published-mean=-1"), Not);
    assert_eq!(over("published-mean=1"), Reproduced);
}

#[test]
fn statements_are_counted_as_published() {
    let counts = |claims: &str| Counts::of([&report(claims)]);
    let order = "[[claim]]\nmeasure='cost'\nalong='load'\norder=['low','middle']\n";
    let table = "[[claim]]\nmeasure='cost'\nat={load=['low','high']}\nrows='policy'\ncolumns='load'\n\
                 published.plain=[40, 7]\npublished.clever=[30, 90]\ntolerance='exact'\n";
    let trend = "[[claim]]\nmeasure='cost'\nalong='load'\ntrend='rises'\n";
    let all = counts(&format!("{table}{order}{trend}"));
    let of = |reproduced, not| Tally { reproduced, not, ..Tally::default() };
    assert_eq!((all.numbers, all.orders, all.trends), (of(3, 1), of(1, 0), of(1, 0)));
    assert_eq!(all.all, of(7, 1));
    // One cell out of order breaks the claim.
    let broken = "[[axis]]\nname='way'\nvalues=[{name='one'},{name='other',more=90}]\n[[claim]]\n\
                  measure='cost'\nat={load='low'}\nalong='policy'\norder=['clever','plain']\n\
                  [[claim]]\nmeasure='cost'\nalong='load'\ntrend='falls'\n";
    let broken = counts(broken);
    assert_eq!((broken.orders, broken.trends), (of(1, 0), of(0, 1)));
    // Our own questions are counted separately.
    let ours = counts(&format!("{table}ours=true\n{order}"));
    assert_eq!((ours.ours, ours.all), (of(3, 1), of(2, 0)));
}

#[test]
fn the_worst_number_is_the_one_missed_by_most() {
    let report = report(
        "[[claim]]\nmeasure='cost'\nat={load=['low','high'],policy='plain'}\ncolumns='load'\n\
         published=[50, 110]\ntolerance='exact'",
    );
    let (claim, miss) = report.worst().expect("two numbers are missed");
    assert_eq!((claim.measured[0].mean, miss), (40.0, -0.2));
}

#[test]
fn a_trend_holds_at_every_step() {
    let claim = |trend: &str, loads: &str, more: &str| {
        verdict(&format!(
            "[[claim]]\nmeasure='cost'\nat={{policy='plain',load={loads}}}\nalong='load'\n\
             trend='{trend}'\n{more}"
        ))
    };
    assert_eq!(claim("rises", "['low','middle','high']", ""), Reproduced);
    assert_eq!(claim("falls", "['low','middle','high']", ""), Not);
    assert_eq!(claim("falls", "['high','middle','low']", ""), Reproduced);
    // One step goes back, although the end is beyond the start.
    assert_eq!(claim("rises", "['middle','low','high']", ""), Not);
    assert_eq!(claim("rises", "['middle','low','high']", "tolerance='50%'"), Tie);
    // With any tolerance, a trend that ends where it began is not a rise.
    assert_eq!(claim("rises", "['high','low']", "tolerance='99%'"), Not);
    assert_eq!(claim("flat", "['low','middle']", "tolerance='34%'"), Reproduced);
    assert_eq!(claim("flat", "['low','middle']", "tolerance='33%'"), Not);
}

#[test]
fn a_reference_is_met_within_its_band_whatever_the_verdict() {
    let claim = |reference: f64| {
        only(&format!(
            "[[claim]]\nmeasure='cost'\nat={{load='low',policy='plain'}}\npublished=999\n\
             tolerance='exact'\nreference={reference}\nband='3%'"
        ))
    };
    assert!(!claim(41.0).misses_reference() && claim(42.0).misses_reference());
    assert_eq!(claim(41.0).verdict, Some(Not));
    let check =
        only("[[claim]]\nmeasure='cost'\nat={load='low',policy='plain'}\nreference=50\nband='3%'");
    assert!(check.misses_reference());
    assert_eq!(check.verdict, None, "nothing was published");
}

#[test]
fn unreachable_claims_are_measured_too() {
    let claim = only(
        "[[claim]]\nmeasure='cost'\nat={load='low',policy='plain'}\npublished=40\n\
         tolerance='exact'\nunreachable='a misprint'",
    );
    assert_eq!((claim.verdict, claim.otherwise), (Some(Unreachable), Some(Reproduced)));
    assert_eq!(claim.measured[0].mean, 40.0);
    let claim = only(
        "[[claim]]\nmeasure='cost'\nat={load='low',policy='plain'}\npublished=41\n\
         tolerance='exact'\nremark='a setting is not printed'",
    );
    assert_eq!(
        (claim.verdict, claim.why.as_deref()),
        (Some(Not), Some("a setting is not printed"))
    );
}

#[test]
fn a_claim_without_its_input_is_skipped_with_the_reason() {
    let report = report(
        "[run]\n[[axis]]\nname='from'\nvalues=[{name='here'},{name='there',trace='traces:x.tct'}]\n\
         [[claim]]\nmeasure='cost'\nat={load='low',policy='plain'}\npublished=40\ntolerance='exact'",
    );
    let verdicts: Vec<_> = report.claims.iter().map(|claim| claim.verdict).collect();
    assert_eq!(verdicts, [Some(Reproduced), Some(Skipped)]);
    assert_eq!(report.claims[1].why.as_deref(), Some("no x.tct"));
}

#[test]
fn a_direction_without_its_input_is_told_by_the_others() {
    let claim = |plain: u32, dear: u32| {
        let report = report(&format!(
            "[[axis]]\nname='way'\nvalues=[{{name='plain'}},{{name='dear',more=9}},\
             {{name='gone',trace='traces:x'}}]\n[[claim]]\nmeasure='cost'\n\
             at={{load='low',policy='plain'}}\ncolumns='way'\npublished=[{plain},{dear},70]\n\
             tolerance='exact'\ndirection='way'"
        ));
        report.claims.iter().filter_map(|claim| claim.verdict).collect::<Vec<_>>()
    };
    assert_eq!(claim(40, 60), [Reproduced, Direction, Skipped]);
    assert_eq!(claim(40, 30), [Reproduced, Not, Skipped]);
}

#[test]
fn a_verdict_is_of_the_mean_over_the_seeds() {
    // Seeds 1 to 3 add 2 on average.
    let claim = only(
        "[run]\nseeds=3\n[[claim]]\nmeasure='cost'\nat={load='low',policy='plain'}\npublished=42\n\
         tolerance='exact'",
    );
    assert_eq!(claim.verdict, Some(Reproduced));
    assert_eq!((claim.measured[0].mean, claim.measured[0].sd), (42.0, Some(1.0)));
}

#[test]
fn readings_tell_how_much_it_matters() {
    let claim = only(
        "[[reading]]\nname='more'\nabout='x'\nset={more=5}\n\
         [[reading]]\nname='less'\nabout='x'\nset={more=-1}\n\
         [[claim]]\nmeasure='cost'\nat={load='low',policy='plain'}\npublished=40\n\
         tolerance='±2'\nbecause='x'",
    );
    assert_eq!(claim.sensitivity(), Some([39.0, 45.0]));
    let verdicts: Vec<_> = claim.readings.iter().map(|reading| reading.verdict).collect();
    assert_eq!(verdicts, [Some(Not), Some(Reproduced)]);
    assert_eq!(claim.agreeing(), Some((1, 2)));
}

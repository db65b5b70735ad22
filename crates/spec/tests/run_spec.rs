//! Runs as data, and the notation of their values.

use thermocline_spec::{
    data::schema,
    run::RunSpec,
    table::{Codec, Group},
    values::*,
};

fn spec(text: &str) -> RunSpec {
    serde_json::from_str(text).expect(text)
}

#[test]
fn equal_runs_are_written_alike() {
    let one = spec(
        r#"{"trace": "a.tct", "policy": "SepBIT", "over-provisioning": "15%", "capacity": "1GiB", "seed": 1,
            "volume": ["a", "b"], "ops": "-trim,-flush", "absolute": true, "wrap": false}"#,
    );
    let other = spec(
        r#"{"absolute": true, "volume": ["a", "b"], "policy": "sep-bit", "over-provisioning": 0.15,
            "trace": "a.tct", "capacity": 1073741824, "ops": "write,read"}"#,
    );
    assert_eq!(one, other);
    let written = serde_json::to_string(&one).expect("text");
    assert_eq!(
        written,
        r#"{"trace":"a.tct","policy":"sep-bit","absolute":true,"capacity":"1GiB","#.to_owned()
            + r#""over-provisioning":"0.15","volume":["a","b"],"ops":"read,write"}"#
    );
    assert_eq!(spec(&written), one);
    assert_ne!(one, spec(r#"{"trace": "a.tct"}"#));
}

#[test]
fn equal_arguments_of_policies_are_written_alike() {
    for (setting, text, expected) in [
        ("policy", "CAT( tau=5040s,offset = 0 ), greedy()", "cat(tau=84min, offset=0),greedy"),
        ("policy", "fk(exponent=1.0)", "fk(exponent=1)"),
        ("policy", "cat(teu=60s),kat(tau=60s),cat(tau)", "cat(teu=60s),kat(tau=60s),cat(tau)"),
        ("victim", "cat(tau=60s)", "cat(tau=1min)"),
        ("placement", "fine-grained(tau=none)", "fine-grained(tau=auto)"),
        ("idle", "timer(after=0.02s)", "timer(after=20ms)"),
    ] {
        let field = RunSpec::field(setting).expect("a setting");
        let mut run = RunSpec::default();
        field.set(&mut run, text).expect(text);
        assert_eq!(field.shown(&run), [expected]);
    }
    let cat = |tau: &str| spec(&format!(r#"{{"trace": "a.tct", "policy": "cat(tau={tau})"}}"#));
    assert_eq!(cat("84min"), cat("5040s"));
    assert_ne!(cat("84min"), cat("84s"));
}

#[test]
fn what_is_no_setting_is_refused_with_its_name() {
    for (text, said) in [
        (
            r#"{"trace": "a", "polic": "dac"}"#,
            "‹polic›: there is no such setting; did you mean ‹policy›?",
        ),
        (r#"{"trace": "a", "capacity": "much"}"#, "‹capacity›: `much` is not a size"),
        (r#"{"trace": "a", "fill": "9%", "over-provisioning": "7%"}"#, "‹over-provisioning›"),
        (r#"{"trace": "a", "bytes": "1MiB"}"#, "‹bytes›: it is for a ‹workload›"),
        (r#"{"policy": "dac"}"#, "‹trace›"),
        (r#"{"trace": "a", "workload": "uniform"}"#, "‹trace›"),
        (r#"{"trace": "a", "check": "perhaps"}"#, "‹check›"),
        (r#"{"trace": "a", "clock": "sun"}"#, "`sun` is none of device, arrivals"),
    ] {
        let error = serde_json::from_str::<RunSpec>(text).expect_err(text).to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// Every choice and every default in the schema is accepted as a value.
#[test]
fn the_schema_says_what_settings_take() {
    let schema = schema();
    let properties = schema["properties"].as_object().expect("properties");
    assert_eq!(properties.len(), RunSpec::table().len());
    for (name, property) in properties {
        let field = RunSpec::field(name).expect("a setting");
        let choices = property["enum"].as_array().into_iter().flatten();
        for value in choices.chain(property.get("default")) {
            let text = value.as_str().expect("a text");
            field.set(&mut RunSpec::default(), text).expect(name);
        }
        assert!(!field.info.help.is_empty(), "{name}");
    }
}

#[test]
fn names_are_known_whatever_their_case_and_hyphens() {
    let known = ["cat", "sep-bit", "greedy"];
    for (text, expected) in [
        ("CAT", "cat"),
        ("SepBIT, Greedy", "sep-bit,greedy"),
        ("CAT(tau=1h, offset=0),Sep_Bit", "cat(tau=1h, offset=0),sep-bit"),
        ("CAT/table-4", "cat/table-4"),
        ("M6,cat,Kat", "M6,cat,Kat"),
        ("", ""),
        (",", ","),
    ] {
        assert_eq!(as_known(text, &known), expected);
    }
}

#[test]
fn daily_writes_accept_decimal_and_binary_units() {
    assert_eq!(daily_writes("50GB"), Ok(50_000_000_000));
    assert_eq!(daily_writes("1.5 TB"), Ok(1_500_000_000_000));
    assert_eq!(daily_writes("20GiB"), Ok(20 << 30));
    assert!(daily_writes("fifty").is_err() && daily_writes("0GB").is_err());
}

#[test]
fn what_is_written_is_read_as_the_same_value() {
    fn again<T: std::fmt::Debug>(codec: Codec<T>, text: &str) {
        let value = (codec.read)(text).expect(text);
        let written = (codec.show)(&value);
        let read = (codec.read)(&written).expect(&written);
        assert_eq!((format!("{read:?}"), (codec.show)(&read)), (format!("{value:?}"), written));
    }
    again(SIZE, "1.5GiB");
    again(SHARE, "7%");
    again(TIME, "84min");
    again(SAMPLE, "1/8");
    again(WINDOW, "64");
    again(WINDOW, "20ms");
    again(FILL, "none");
    again(FILL, "90%");
    again(READ_ONLY, "unwritten");
    again(WORKLOAD, "phases:hot-cold:90/10@8MiB,uniform@8MiB");
    again(FORMAT, "msr");
    again(COLUMNS, "time=1:us,op=2:W/R,offset=3:sectors,size=4");
    again(ACTION, "D");
    again(TIME_UNIT, "100ns");
    again(SECTOR_SIZE, "4k");
    again(OPS, "-trim");
    again(SHIFT, "-63s");
    again(HINT, "volume");
    again(HINT, "1.5GiB..2GiB=3");
    again(TRIGGER, "falling");
    again(BANK_ASSIGNMENT, "dynamic");
    again(POLICY, "CAT(tau=1h)");
}

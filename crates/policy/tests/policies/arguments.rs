//! Invalid arguments of policies are refused.

use thermocline_policy::{Args, Context, ParamError, placement, victim};

#[test]
fn an_exponent_below_0_would_prefer_young_blocks_and_is_refused() {
    let context =
        Context { logical_pages: 1000, blocks: 100, pages_per_block: 16, ..Context::smallest() };
    let args = |exponent: &str| {
        let pairs = [("transform", "power"), ("exponent", exponent)];
        Args(pairs.map(|(key, value)| (key.into(), value.into())).to_vec())
    };
    for name in ["cost-benefit", "lfs", "cat"] {
        let build = victim::find(name).expect("registered").build;
        for exponent in ["0", "0.35", "2"] {
            assert!(build(&args(exponent), &context).is_ok(), "{name}: {exponent}");
        }
        for exponent in ["-0.1", "-1e-9", "nan", "inf", "x"] {
            let refused = ParamError::Value {
                key: "exponent".into(),
                value: exponent.into(),
                expected: "a number of at least 0".into(),
            };
            assert_eq!(build(&args(exponent), &context).err(), Some(refused), "{name}");
        }
    }
}

#[test]
fn numbers_out_of_range_are_refused_by_name() {
    struct Nothing;
    impl placement::Visitor for Nothing {
        type Output = u8;
        fn visit<P: placement::Placement + 'static>(self, placement: P) -> u8 {
            placement.streams()
        }
    }
    let context = Context { logical_pages: 1000, ..Context::smallest() };
    let args = |key: &str, value: &str| Args(vec![(key.into(), value.into())]);
    let dac = |key: &str, value: &str| {
        placement::dispatch("dac", &args(key, value), &context, Nothing).expect("registered")
    };
    for regions in 1..=16 {
        assert_eq!(dac("regions", &regions.to_string()), Ok(regions));
    }
    for (key, value) in [
        ("regions", "0"),
        ("regions", "17"),
        ("regions", "256"),
        ("regions", "257"),
        ("regions", "-1"),
        ("threshold", "-1s"),
        ("threshold", "soon"),
    ] {
        let Err(ParamError::Value { key: named, value: shown, .. }) = dac(key, value) else {
            panic!("dac({key}={value}) is refused");
        };
        assert_eq!((named.as_str(), shown.as_str()), (key, value));
    }
    for threshold in ["0", "1ns", "84min", "200000d", "none"] {
        assert_eq!(dac("threshold", threshold), Ok(4), "{threshold}");
    }
    for (name, key, right, wrong) in [
        ("adaptive", "entries", "64", "63"),
        ("adaptive", "entries", "4294967295", "4294967296"),
        ("adaptive", "z", "-1", "nan"),
        ("adaptive", "window", "0", "x"),
        ("adaptive", "reset", "cleaning", "never"),
        ("linux-ftl", "every", "1", "0"),
    ] {
        let build = victim::find(name).expect("registered").build;
        assert!(build(&args(key, right), &context).is_ok(), "{name}({key}={right})");
        let refused = build(&args(key, wrong), &context).err();
        assert!(
            matches!(&refused, Some(ParamError::Value { key: named, .. }) if named == key),
            "{name}({key}={wrong}): {refused:?}"
        );
    }
}

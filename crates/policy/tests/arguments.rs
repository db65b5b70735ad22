//! Arguments that would make a policy another than its documentation says are refused.

use thermocline_policy::{Args, Context, ParamError, victim};

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

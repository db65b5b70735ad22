//! A page-mapped layer over a chip in memory, with any policy there is.

use thermocline_flash::{Geometry, Rules};
use thermocline_ftl::{Config, PageMapped};
use thermocline_media::{Medium, Ram};
use thermocline_policy::{
    Context,
    placement::{self, Placement},
    victim,
};
use thermocline_server::AnyLayer;
use thermocline_sim::PolicySpec;

/// A chip of `blocks` blocks of 64 pages of 4 KiB.
#[must_use]
pub fn geometry(blocks: u32) -> Geometry {
    Geometry {
        banks: 1,
        channels: 1,
        blocks_per_bank: blocks,
        pages_per_block: 64,
        page_size: 4096,
        oob_size: 32,
        header_pages: 0,
        system_blocks: 0,
    }
}

/// That chip in memory.
#[must_use]
pub fn ram(blocks: u32) -> Box<dyn Medium> {
    let rules = Rules { in_order: true, endurance: 100_000, initial_bad_blocks: 0 };
    Box::new(Ram::new(geometry(blocks), rules))
}

/// A layer with `pages` logical pages; cleans ahead in idle time until `idle_free` blocks are free.
///
/// # Panics
/// If there is no such policy, or the chip is too small.
#[must_use]
pub fn page_mapped(chip: Box<dyn Medium>, policy: &str, pages: u32, idle_free: u32) -> AnyLayer {
    struct Build {
        chip: Box<dyn Medium>,
        spec: PolicySpec,
        context: Context,
        config: Config,
    }
    impl placement::Visitor for Build {
        type Output = AnyLayer;
        fn visit<P: Placement + 'static>(self, placement: P) -> AnyLayer {
            let call = &self.spec.victim;
            let entry = victim::find(&call.name).expect("the policy was read");
            let victim =
                |_| (entry.build)(&call.args, &self.context).expect("the policy was checked");
            Box::new(
                PageMapped::new(self.chip, placement, victim, self.config)
                    .expect("the chip is large enough"),
            )
        }
    }
    let spec = PolicySpec::parse(policy, None, None).expect("there is such a policy");
    let geometry = *chip.geometry();
    let context = Context {
        logical_pages: pages,
        blocks: geometry.blocks(),
        pages_per_block: geometry.data_pages_per_block(),
        banks: geometry.banks,
        time_scale: 1e9,
        seed: 1,
        future: None,
    };
    let config = Config { idle_free, ..Config::new(pages) };
    let (name, args) = (spec.placement.name.clone(), spec.placement.args.clone());
    let build = Build { chip, spec, context: context.clone(), config };
    placement::dispatch(&name, &args, &context, build)
        .expect("the policy was read")
        .expect("the policy was checked")
}

//! Devices: built-in profiles, the user's TOML files, and single figures overridden.

use std::path::Path;

use thermocline_flash::{BUILT_IN_PROFILES, CacheSize, Drive, Profile, SlcCache};
use thermocline_units::format_size;

use crate::{AssemblyError, names::unknown};

/// Data pages of a block that a sample must leave.
pub const LEAST_SAMPLED: u32 = 32;

/// A device that can be simulated.
#[derive(Clone, Debug)]
pub struct Device {
    /// Geometry, rules, timing, energy.
    pub profile: Profile,
    /// Whether the user fixed the number of blocks, or it is a drive's; a trace may choose it otherwise.
    pub fixed_capacity: bool,
    /// Over-provisioning that the device has by itself, as a drive does.
    pub over_provisioning: Option<f64>,
}

/// Single figures over a profile's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// Bytes of the whole chip.
    pub capacity: Option<u64>,
    /// Bytes of an erase block.
    pub block_size: Option<u64>,
    /// Bytes of a page.
    pub page_size: Option<u64>,
    /// Pages of a block that hold its header and no data.
    pub header_pages: Option<u32>,
    /// Number of banks; the chip's blocks are divided among them.
    pub banks: Option<u32>,
    /// Number of channels that banks are reached by.
    pub channels: Option<u32>,
}

/// The built-in profiles.
#[must_use]
pub fn built_in() -> Vec<Profile> {
    BUILT_IN_PROFILES
        .iter()
        .map(|(name, text)| {
            toml::from_str(text).unwrap_or_else(|e| panic!("built-in profile {name}: {e}"))
        })
        .collect()
}

/// A device as TOML with its comments, as in the profile or file: what `--device` takes.
///
/// # Errors
/// Those of [`Device::load`].
pub fn toml(name: &str) -> Result<String, AssemblyError> {
    Device::load(name)?;
    if let Some((_, text)) = BUILT_IN_PROFILES.iter().find(|(known, _)| *known == name) {
        return Ok((*text).to_owned());
    }
    std::fs::read_to_string(name).map_err(|e| AssemblyError::Input(format!("{name}: {e}")))
}

/// "there is no such device", with those that are called or described so.
fn unknown_device(name: &str) -> AssemblyError {
    const REMEDY: &str =
        "`thermocline devices` lists the built-in ones; a file's name ends in .toml";
    let wanted = name.to_lowercase();
    let words = |text: &str| {
        let words = text.to_lowercase();
        let mut words = words.split(|c: char| !c.is_alphanumeric());
        wanted.len() > 1
            && words.any(|word| word.trim_end_matches('s') == wanted.trim_end_matches('s'))
    };
    let all = built_in();
    let called: Vec<_> = all.iter().filter(|p| words(&p.name)).collect();
    let described: Vec<_> = all.iter().filter(|p| words(&p.summary)).collect();
    let near = if called.is_empty() { described } else { called };
    let near: Vec<_> = near.iter().map(|profile| format!("`{}`", profile.name)).collect();
    match &near[..] {
        [] => unknown("device", name, BUILT_IN_PROFILES.iter().map(|(n, _)| *n), REMEDY),
        near => AssemblyError::Usage(format!(
            "there is no device `{name}`; did you mean {}? ({REMEDY})",
            near.join(", ")
        )),
    }
}

impl Device {
    /// A device whose blocks are those of a chip.
    #[must_use]
    pub const fn of_chip(profile: Profile) -> Self {
        Self { profile, fixed_capacity: true, over_provisioning: None }
    }

    /// Logical pages that it exports: data pages / (1 + over-provisioning).
    #[must_use]
    pub fn exported_pages(&self, over_provisioning: f64) -> u32 {
        let geometry = &self.profile.geometry;
        let data = u64::from(geometry.data_blocks()) * u64::from(geometry.data_pages_per_block());
        (data as f64 / (1.0 + over_provisioning)) as u32
    }

    /// The time scale of age transformations by the device's own clock, in nanoseconds: as many of its
    /// erase times as the papers' tables are reproduced with on the papers' device.
    #[must_use]
    pub fn time_scale_ns(&self) -> f64 {
        const PAPERS_SCALE_NS: f64 = 250e9;
        const PAPERS_ERASE_NS: f64 = 0.689e9;
        let erase = self.profile.timing.erase() as f64;
        let scale =
            if erase > 0.0 { PAPERS_SCALE_NS * erase / PAPERS_ERASE_NS } else { PAPERS_SCALE_NS };
        scale.round()
    }

    /// Whether all times are 0: no bank is ever busy, as on a chip that is served and not paced.
    #[must_use]
    pub fn answers_at_once(&self) -> bool {
        self.profile.timing == thermocline_flash::Timing::default()
    }

    /// A built-in profile by name, or a TOML file.
    ///
    /// # Errors
    /// [`AssemblyError`], naming the file and its fault, or the nearest name.
    pub fn load(name: &str) -> Result<Self, AssemblyError> {
        let profile = if let Some((_, text)) = BUILT_IN_PROFILES.iter().find(|(n, _)| *n == name) {
            toml::from_str(text)
                .map_err(|e| AssemblyError::Broken(format!("profile {name}: {e}")))?
        } else if name.ends_with(".toml") || Path::new(name).is_file() {
            let text = std::fs::read_to_string(name).map_err(|e| {
                AssemblyError::Input(format!(
                    "{name}: {e}; ‹device› takes a built-in profile or a TOML file"
                ))
            })?;
            toml::from_str(&text).map_err(|e: toml::de::Error| {
                AssemblyError::Input(format!("{name}: {}", one_line(&text, &e)))
            })?
        } else {
            return Err(unknown_device(name));
        };
        let mut device = Self { profile, fixed_capacity: false, over_provisioning: None };
        device.check()?;
        if let Some(drive) = &device.profile.drive {
            device.over_provisioning = Some(device.spare(drive)?);
            device.fixed_capacity = true;
        }
        Ok(device)
    }

    /// Over-provisioning of a drive: its flash / its exported bytes − 1.
    fn spare(&self, drive: &Drive) -> Result<f64, AssemblyError> {
        let geometry = &self.profile.geometry;
        let data = u64::from(geometry.data_blocks())
            * u64::from(geometry.data_pages_per_block())
            * u64::from(geometry.page_size);
        if drive.exported_bytes == 0 || drive.exported_bytes >= data {
            return Err(AssemblyError::Input(format!(
                "device {}: exported_bytes must be above 0 and below the {} of its data blocks",
                self.profile.name,
                format_size(data)
            )));
        }
        if !(0.0..1.0).contains(&drive.overhead) {
            return Err(AssemblyError::Input(format!(
                "device {}: overhead is a share of at least 0 and below 1, not {}",
                self.profile.name, drive.overhead
            )));
        }
        Ok(data as f64 / drive.exported_bytes as f64 - 1.0)
    }

    /// The device with single figures overridden.
    ///
    /// # Errors
    /// [`AssemblyError::Input`] if the figures make no device.
    pub fn with(mut self, o: &Overrides) -> Result<Self, AssemblyError> {
        let g = &mut self.profile.geometry;
        let block_size = o.block_size.unwrap_or(g.block_size());
        let capacity = o.capacity.unwrap_or(g.capacity());
        if let Some(page) = o.page_size {
            g.page_size = u32::try_from(page).unwrap_or(0);
        }
        let page = u64::from(g.page_size);
        if page == 0 {
            return Err(AssemblyError::Input(
                "a page of 0 bytes or above 4 GiB makes no device".into(),
            ));
        }
        if block_size == 0 || !block_size.is_multiple_of(page) {
            return Err(AssemblyError::Input(format!(
                "a block of {block_size} bytes is not a whole number of pages of {page} bytes; \
                 choose ‹block-size› as a multiple of ‹page-size›"
            )));
        }
        if o.banks == Some(0) {
            return Err(AssemblyError::Input(
                "‹banks 0› makes no device; give it at least 1".into(),
            ));
        }
        g.header_pages = o.header_pages.unwrap_or(g.header_pages);
        g.banks = o.banks.unwrap_or(g.banks);
        // A channel without a bank would be no device's.
        g.channels = o.channels.unwrap_or_else(|| g.channels.min(g.banks));
        if g.channels == 0 || g.channels > g.banks {
            return Err(AssemblyError::Input(format!(
                "{} channels are more or less than device {} can have; choose ‹channels› from 1 to \
                 its number of banks, {}",
                g.channels, self.profile.name, g.banks
            )));
        }
        let row = block_size.checked_mul(u64::from(g.banks)).ok_or_else(|| {
            AssemblyError::Input("blocks and banks of more than 16 EiB make no device".into())
        })?;
        // Only a capacity that was asked for must come out exactly.
        let per_bank = capacity / row;
        if per_bank == 0 || o.capacity.is_some_and(|asked| !asked.is_multiple_of(row)) {
            return Err(AssemblyError::Input(format!(
                "a capacity of {} is not one or more blocks of {} in each of {} banks; choose \
                 ‹capacity› as a multiple of {}",
                format_size(capacity),
                format_size(block_size),
                g.banks,
                format_size(row),
            )));
        }
        g.pages_per_block = u32::try_from(block_size / page).unwrap_or(u32::MAX);
        g.blocks_per_bank = u32::try_from(per_bank).unwrap_or(u32::MAX);
        self.fixed_capacity |= o.capacity.is_some();
        self.check()?;
        Ok(self)
    }

    /// The device for a sample of its pages: the same number of blocks with one in `of` pages each. A
    /// page takes the time of `of` pages, so that the device is as busy.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`] if the blocks would be too small to stand for those of the device.
    pub fn sampled(&self, of: u32) -> Result<Self, AssemblyError> {
        self.smaller("‹sample›", of)
    }

    /// The device with an `of`-th of the pages in each block, as for [`sampled`](Self::sampled): for generated
    /// traffic, which is made for the smaller one.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`] if the blocks would be too small to stand for those of the device.
    pub fn scaled(&self, of: u32) -> Result<Self, AssemblyError> {
        self.smaller("‹scale›", of)
    }

    fn smaller(&self, option: &str, of: u32) -> Result<Self, AssemblyError> {
        let mut device = self.clone();
        let geometry = &mut device.profile.geometry;
        let pages = geometry.data_pages_per_block();
        if pages / of < LEAST_SAMPLED {
            return Err(AssemblyError::Usage(self.no_sample(option, of)));
        }
        // A device cut to a trace gets its over-provisioning back by its number of blocks.
        let kept = (f64::from(pages) / f64::from(of)).round() as u32;
        geometry.pages_per_block = geometry.header_pages + kept;
        // A page stands for pages of both kinds.
        device.profile.page_pairs = None;
        let timing = &mut device.profile.timing;
        for ns in [
            &mut timing.read_setup_ns,
            &mut timing.read_ns,
            &mut timing.oob_read_ns,
            &mut timing.program_setup_ns,
            &mut timing.program_ns,
            &mut timing.copy_setup_ns,
            &mut timing.copy_ns,
        ] {
            *ns = ns.saturating_mul(of.into());
        }
        if let Some(buffer) = &mut device.profile.write_buffer {
            buffer.bytes /= u64::from(of);
        }
        if let Some(energy) = &mut device.profile.energy {
            energy.read_uj *= f64::from(of);
            energy.program_uj *= f64::from(of);
        }
        device.check()?;
        Ok(device)
    }

    /// Why a sample of one page in `of` says nothing of the device, and what would.
    fn no_sample(&self, option: &str, of: u32) -> String {
        let pages = self.profile.geometry.data_pages_per_block();
        let most = pages / LEAST_SAMPLED;
        format!(
            "{option} 1/{of} leaves {} of a block's {pages} pages, and fewer than {LEAST_SAMPLED} do not \
             behave as a block does; {}",
            pages / of,
            if most > 1 {
                format!("take at least 1/{most}, or a larger ‹block-size›")
            } else {
                format!(
                    "take a ‹block-size› of at least {} as superblocks have it, or leave out {option}",
                    format_size(
                        u64::from(of * LEAST_SAMPLED) * u64::from(self.profile.geometry.page_size)
                    )
                )
            }
        )
    }

    /// The device with a superblock in place of the blocks at one position in all banks. Its pages are striped over the
    /// banks, which work together; with `parity` one page of each stripe holds no data.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], if it has no banks to put together.
    pub fn superblocks(mut self, parity: bool) -> Result<Self, AssemblyError> {
        let (geometry, is_drive) = (self.profile.geometry, self.profile.drive.is_some());
        let refused = if is_drive || self.profile.stripe_pages.is_some() {
            Some("its blocks are superblocks already; leave it out")
        } else if geometry.banks < 2 || geometry.header_pages > 0 {
            Some("they need two or more ‹banks› of blocks without header pages")
        } else {
            None
        };
        if let Some(why) = refused {
            let name = &self.profile.name;
            return Err(AssemblyError::Usage(format!("‹superblocks› of device {name}: {why}")));
        }
        let profile = &mut self.profile;
        // A stripe has pages of both kinds in the long run.
        profile.page_pairs = None;
        let geometry = &mut profile.geometry;
        let banks = geometry.banks;
        let data = banks - u32::from(parity);
        let turns = u64::from(banks.div_ceil(geometry.channels));
        geometry.pages_per_block = geometry.pages_per_block.saturating_mul(data);
        geometry.system_blocks = geometry.system_blocks.div_ceil(banks);
        (geometry.banks, geometry.channels) = (1, 1);
        // The banks of a stripe wait for their channels in turn, and then work at once.
        let timing = &mut profile.timing;
        let of_stripe = |setup: u64, busy: u64| setup * turns + busy;
        let a_page = |stripe: u64| stripe.div_ceil(u64::from(data));
        let copy_busy = timing.copy_ns - timing.copy_setup_ns.min(timing.copy_ns);
        timing.program_ns = a_page(of_stripe(timing.program_setup_ns, timing.program_ns));
        timing.copy_ns = a_page(of_stripe(timing.copy_setup_ns, copy_busy));
        timing.erase_ns = of_stripe(timing.erase_setup_ns, timing.erase_ns);
        (timing.program_setup_ns, timing.copy_setup_ns, timing.erase_setup_ns) = (0, 0, 0);
        if let Some(energy) = &mut profile.energy {
            energy.program_uj *= f64::from(banks) / f64::from(data);
            energy.erase_uj *= f64::from(banks);
        }
        profile.stripe_pages = parity.then_some(banks);
        self.check()?;
        Ok(self)
    }

    /// The device with what its profile has been given since it was loaded.
    ///
    /// # Errors
    /// [`AssemblyError::Input`] if that makes no device.
    pub fn checked(self) -> Result<Self, AssemblyError> {
        self.check()?;
        Ok(self)
    }

    /// Checks the parts of the drive beside its log.
    fn check_front(&self) -> Result<(), &'static str> {
        let Profile { write_buffer, slc_cache, stripe_pages, overhead, .. } = &self.profile;
        if write_buffer.is_some_and(|buffer| buffer.bytes == 0) {
            return Err("a write buffer has at least 1 byte");
        }
        if let Some(SlcCache { size, share, bits }) = *slc_cache {
            if !(share > 0.0 && (share < 1.0 || share == 1.0 && size == CacheSize::Dynamic)) {
                return Err("an SLC cache has a share above 0 and below 1 of the blocks");
            }
            if !(1..=16).contains(&bits) {
                return Err("cells hold 1 to 16 bits outside an SLC cache");
            }
        }
        if stripe_pages.is_some_and(|pages| pages < 2) {
            return Err("a stripe with parity has two pages or more");
        }
        if overhead.is_some_and(|share| !(0.0..1.0).contains(&share)) {
            return Err("overhead is a share of at least 0 and below 1");
        }
        Ok(())
    }

    fn check(&self) -> Result<(), AssemblyError> {
        let (timing, rules) = (&self.profile.timing, &self.profile.rules);
        let impossible =
            |what: &str| Err(AssemblyError::Input(format!("device {}: {what}", self.profile.name)));
        if !self.answers_at_once() && (timing.program() == 0 || timing.erase() == 0) {
            return impossible(
                "program_us and erase_us must be above 0: ages are measured in them; or all times 0, of a chip \
                 that answers at once",
            );
        }
        self.check_front().or_else(impossible)?;
        if let Some(pairs) = self.profile.page_pairs {
            let [lower, upper] = pairs.ns();
            let mean = (lower + upper) / 2;
            if lower == 0 || upper < lower || mean.abs_diff(timing.program_ns) * 100 > mean {
                return impossible(&format!(
                    "lower_us of page_pairs must be above 0 and not above upper_us, and program_us their mean, {}",
                    mean as f64 / 1000.0
                ));
            }
        }
        if rules.endurance == 0 {
            return impossible("endurance must be at least 1 erase cycle");
        }
        if let Some(energy) = &self.profile.energy {
            let figures = [energy.read_uj, energy.program_uj, energy.erase_uj];
            if figures.iter().any(|uj| !uj.is_finite() || *uj < 0.0) {
                return impossible("energies must be finite and not below 0 microjoules");
            }
        }
        self.profile
            .geometry
            .check()
            .map_err(|e| AssemblyError::Input(format!("device {}: {e}", self.profile.name)))
    }

    /// The device with enough blocks in each bank for `data_blocks`.
    ///
    /// # Errors
    /// [`AssemblyError::Input`] if no device has so many.
    pub fn sized(&self, data_blocks: u64) -> Result<Self, AssemblyError> {
        let mut device = self.clone();
        let g = &mut device.profile.geometry;
        let blocks = data_blocks + u64::from(g.system_blocks);
        g.blocks_per_bank =
            u32::try_from(blocks.div_ceil(u64::from(g.banks))).unwrap_or(u32::MAX / g.banks);
        device.check()?;
        Ok(device)
    }
}

/// "line 3: what is wrong", without the excerpt that takes several lines.
fn one_line(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
    format!("line {line}: {}", error.message().replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_reads_and_is_called_by_its_name() {
        for (profile, (name, _)) in built_in().iter().zip(BUILT_IN_PROFILES) {
            assert_eq!(profile.name, *name);
            assert!(!profile.sources.is_empty() && profile.timing.program() > 0);
            assert!(Device::load(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn impossible_figures_are_refused_with_a_remedy() {
        let device = Device::load("intel-series2plus-24m").expect("built in");
        let block = |n| Overrides { block_size: Some(n), ..Overrides::default() };
        let message = device.clone().with(&block(100_000)).expect_err("odd").to_string();
        assert!(message.contains("multiple of ‹page-size›"), "{message}");
        let with = |overrides| device.clone().with(&overrides);
        let banks = |n| Overrides { banks: Some(n), ..Overrides::default() };
        assert!(with(banks(0)).is_err() && with(banks(193)).is_err());
        assert!(with(Overrides { capacity: Some(1), ..Overrides::default() }).is_err());
        assert!(with(Overrides { capacity: Some(24 << 20), ..banks(7) }).is_err());
        // A default capacity is rounded down to whole blocks in each bank.
        let seven = with(banks(7)).expect("27 blocks in each of 7 banks").profile.geometry;
        assert_eq!((seven.blocks_per_bank, seven.banks), (27, 7));
        let mut dead = device.clone();
        (dead.profile.timing.erase_setup_ns, dead.profile.timing.erase_ns) = (0, 0);
        assert!(dead.check().expect_err("no erase time").to_string().contains("program_us"));
        dead.profile.timing = thermocline_flash::Timing::default();
        assert!(dead.answers_at_once() && dead.check().is_ok());
        let message = Device::load("intel-serie2plus-24m").expect_err("no such").to_string();
        assert!(message.contains("did you mean `intel-series2plus-24m`?"), "{message}");
        for (asked, near) in [
            ("emmc", "did you mean `emmc-5.1`?"),
            ("eMMC", "`emmc-5.1`?"),
            ("phone", "`emmc-5.1`, `ufs-3.1`?"),
            ("sd", "`sd-card`?"),
            ("usb", "`usb-stick`?"),
            ("QLC", "`qlc-generic`, `nvme-qlc-client`, `nvme-qlc-datacenter`, `3d-qlc-2024`?"),
        ] {
            let message = Device::load(asked).expect_err("no such").to_string();
            assert!(message.contains(near), "{asked}: {message}");
        }
        let kib = device.with(&Overrides { page_size: Some(1024), ..Overrides::default() });
        assert_eq!(kib.expect("1 KiB blocks").profile.geometry.data_pages_per_block(), 127);
    }
}

//! Checks memory before it is allocated, because a failed allocation would end the process.

use thermocline_units::show_size;

use crate::SimError;

/// Checks that this many bytes are available for `what`.
///
/// # Errors
/// [`SimError::Memory`] if they are not.
pub fn require(bytes: u64, what: &str) -> Result<(), SimError> {
    match system::available().filter(|left| bytes > *left) {
        None => Ok(()),
        Some(left) => Err(SimError::Memory(format!(
            "{what} takes {} of memory at least, and {} can be had; take a smaller device, or larger pages",
            show_size(bytes),
            show_size(left)
        ))),
    }
}

/// Where the system says what is left.
#[cfg(unix)]
mod system {
    use std::fs;

    use rustix::process::{Resource, getrlimit};

    /// Available bytes: the minimum of the machine's, the control group's and the process's limit.
    /// `None` if the system reports none.
    pub(super) fn available() -> Option<u64> {
        [of_machine(), of_group(), of_process()].into_iter().flatten().min()
    }

    fn of_machine() -> Option<u64> {
        let told = fs::read_to_string("/proc/meminfo").ok()?;
        Some(field(&told, "MemAvailable:")? * 1024 + field(&told, "SwapFree:")? * 1024)
    }

    /// A control group's limit minus the usage of its processes. Cached file pages count as available.
    fn of_group() -> Option<u64> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        let read = |name| fs::read_to_string(format!("/sys/fs/cgroup{path}/{name}")).ok();
        let number = |name| read(name)?.trim().parse::<u64>().ok();
        let files = read("memory.stat").and_then(|told| field(&told, "inactive_file")).unwrap_or(0);
        Some((number("memory.max")? + files).saturating_sub(number("memory.current")?))
    }

    fn of_process() -> Option<u64> {
        let most = getrlimit(Resource::As).current?;
        let mapped = field(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")? * 1024;
        Some(most.saturating_sub(mapped))
    }

    /// The number after a name.
    fn field(told: &str, name: &str) -> Option<u64> {
        let line = told.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

/// What is left of the memory that a page can have: 4 GiB of addresses.
#[cfg(target_family = "wasm")]
mod system {
    /// Bytes of a page of memory.
    const PAGE: u64 = 64 << 10;

    pub(super) fn available() -> Option<u64> {
        Some((1 << 32) - core::arch::wasm32::memory_size(0) as u64 * PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused_and_a_byte_is_not() {
        assert!(require(1, "a byte").is_ok());
        let refused = require(1 << 60, "an exbibyte").expect_err("nobody has it");
        let text = refused.to_string();
        let expected = format!("an exbibyte takes {} of memory at least, and ", show_size(1 << 60));
        assert!(text.starts_with(&expected), "{text}");
    }
}

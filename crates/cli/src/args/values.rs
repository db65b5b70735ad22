//! Values that only the command line takes, beside those of settings.

use std::str::FromStr;

use thermocline_media::{Faults, FaultsError};
use thermocline_policy::preset::LayerKind;
pub use thermocline_study::settings::values::*;
use thermocline_units::parse_size;

/// [`thermocline_units::USUAL_OVER_PROVISIONING`] as it is typed.
pub const USUAL_OVER_PROVISIONING: &str = "15%";

/// An address to listen on: `127.0.0.1:10809`, `[::1]:10809`, `localhost:10809`.
pub fn address(text: &str) -> Result<String, String> {
    let is_host = |host: &str| {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        !host.is_empty() && (bare.is_some() || !host.contains(':'))
    };
    match text.rsplit_once(':') {
        Some((host, port)) if is_host(host) && port.parse::<u16>().is_ok() => Ok(text.to_owned()),
        _ => {
            Err("expected host:port, as in 127.0.0.1:10809, [::1]:10809 or localhost:10809".into())
        }
    }
}

/// An address of this machine unless another is named: `9810`, `:9810`, `127.0.0.1:9810`.
pub fn own_address(text: &str) -> Result<String, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if port.parse::<u16>().is_ok() {
        return Ok(format!("127.0.0.1:{port}"));
    }
    address(text).map_err(|_| "expected [host:]port, as in 9810 or 127.0.0.1:9810".into())
}

/// How long something goes on, in nanoseconds: `10m`, `90s`, `2h`.
pub fn duration(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let minutes = text.strip_suffix('m').map(|number| format!("{number}min"));
    match time(minutes.as_deref().unwrap_or(text)) {
        Ok(ns @ 1..) => Ok(ns),
        _ => Err(format!("`{text}` is not a time; write it as 10m, 90s or 2h")),
    }
}

/// A layer that keeps data on a chip.
pub fn served_layer(text: &str) -> Result<LayerKind, String> {
    let kinds =
        [LayerKind::PageMapped, LayerKind::DemandPaged, LayerKind::Nftl, LayerKind::InPlace];
    let kind = kinds.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(text));
    kind.ok_or_else(|| {
        format!(
            "`{text}` is no layer that keeps data; there are page-mapped, demand-paged, nftl and \
             in-place"
        )
    })
}

/// A part of an export, in bytes: `0..64MiB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region(pub std::ops::Range<u64>);

impl FromStr for Region {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ends = text.split_once("..").ok_or_else(|| {
            format!(
                "`{text}` is no region; write it as its first byte and its end, such as 0..64MiB"
            )
        })?;
        let byte = |text: &str| parse_size(text).map_err(|e| e.to_string());
        let (from, to) = (byte(ends.0)?, byte(ends.1)?);
        if from >= to {
            return Err(format!("`{text}` is an empty region"));
        }
        Ok(Self(from..to))
    }
}

/// Permissions in octal: `660`.
pub fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| format!("`{text}` are no permissions; write them in octal, such as 660"))
}

/// A user and a group, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub user: Option<u32>,
    /// The group.
    pub group: Option<u32>,
}

/// An owner by names or numbers: `nbd`, `nbd:disk`, `:disk`, `1000:6`.
pub fn owner(text: &str) -> Result<Owner, String> {
    use nix::unistd::{Group, User};
    let (user, group) = text.split_once(':').unwrap_or((text, ""));
    if user.is_empty() && group.is_empty() {
        return Err("names nobody; write USER, USER:GROUP or :GROUP".into());
    }
    let number = |text: &str, what: &str, found: Option<u32>| match text {
        "" => Ok(None),
        text => found
            .or_else(|| text.parse().ok())
            .map(Some)
            .ok_or_else(|| format!("there is no {what} {text}; name one, or write its number")),
    };
    let found = |user| User::from_name(user).ok().flatten().map(|user| user.uid.as_raw());
    let user = number(user, "user", found(user))?;
    let found = |group| Group::from_name(group).ok().flatten().map(|group| group.gid.as_raw());
    let group = number(group, "group", found(group))?;
    Ok(Owner { user, group })
}

/// A log level or filter.
pub fn log_filter(text: &str) -> Result<String, String> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    // A word alone would be taken for a part of the program, and all that one logs.
    let is_known = |part: &&str| {
        part.contains(['=', '[']) || LEVELS.iter().any(|level| level.eq_ignore_ascii_case(part))
    };
    match text.split(',').map(str::trim).find(|part| !is_known(part)) {
        None => Ok(text.to_owned()),
        Some(part) => Err(format!(
            "`{part}` is not a log level; expected error, warn, info or debug, or a filter such as \
             thermocline_server=debug"
        )),
    }
}

/// Faults to put in the way, one at least.
pub fn faults(text: &str) -> Result<Faults, String> {
    let faults = text.parse().map_err(|e: FaultsError| e.to_string())?;
    if text.contains('=') {
        Ok(faults)
    } else {
        Err("names no fault; give one, as in seed=1,flip=1e-6, or leave the option out".into())
    }
}

/// Names of papers, and all of them.
pub fn papers() -> Named {
    let names = thermocline_study::reproduce::papers().into_iter().chain(["all"]);
    names.map(|name| (name, "")).collect()
}

/// Names of everything `policies` lists.
pub fn policies() -> Named {
    let mut all = presets();
    for one in [victims(), placements(), idles(), dead_data()].into_iter().flatten() {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_over_provisioning_is_typed_as_it_is_meant() {
        assert_eq!(share(USUAL_OVER_PROVISIONING), Ok(thermocline_units::USUAL_OVER_PROVISIONING));
    }
}

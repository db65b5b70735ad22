//! Who may use an export.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

/// A range of addresses, such as `192.168.7.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    bits: u128,
    mask: u128,
}

/// A text that is no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no range of addresses; write ADDRESS/PREFIX, such as 192.168.7.0/24 or fd00::/8")]
pub struct NetworkError(String);

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let wrong = || NetworkError(text.into());
        let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let (longest, before) = if address.is_ipv4() { (32_u32, 96) } else { (128, 0) };
        let prefix = prefix.map_or(Ok(longest), |prefix| prefix.parse().map_err(|_| wrong()))?;
        if prefix > longest {
            return Err(wrong());
        }
        let mask = u128::MAX.checked_shl(128 - before - prefix).unwrap_or(0);
        Ok(Self { bits: bits(address) & mask, mask })
    }
}

impl Network {
    fn has(&self, address: IpAddr) -> bool {
        bits(address) & self.mask == self.bits
    }
}

/// An address as a number; those of IPv4 as IPv6 maps them, as a socket for both shows them.
fn bits(address: IpAddr) -> u128 {
    let mapped = |v4: Ipv4Addr| v4.to_ipv6_mapped();
    let v6: Ipv6Addr = match address {
        IpAddr::V4(v4) => mapped(v4),
        IpAddr::V6(v6) => v6,
    };
    v6.to_bits()
}

/// Who may use an export; anybody, if it says nothing.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Addresses of clients over TCP; any if there are none.
    pub networks: Vec<Network>,
    /// Names of which a client's certificate must have one; any certificate, or none, if there are none.
    pub names: Vec<String>,
}

impl Access {
    /// Whether anybody may.
    pub(crate) const fn is_open(&self) -> bool {
        self.networks.is_empty() && self.names.is_empty()
    }

    /// Whether a client may, by its address, where it has one, and the names of its certificate.
    pub(crate) fn admits(&self, address: Option<IpAddr>, has_name: impl Fn(&str) -> bool) -> bool {
        let is_near = |address| self.networks.iter().any(|network| network.has(address));
        (self.networks.is_empty() || address.is_none_or(is_near))
            && (self.names.is_empty() || self.names.iter().any(|name| has_name(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(network: &str, address: &str) -> bool {
        let network: Network = network.parse().expect(network);
        network.has(address.parse().expect(address))
    }

    #[test]
    fn a_network_has_the_addresses_of_its_prefix() {
        assert!(has("192.168.7.0/24", "192.168.7.255") && !has("192.168.7.0/24", "192.168.8.0"));
        assert!(has("10.1.2.3", "10.1.2.3") && !has("10.1.2.3", "10.1.2.4"));
        assert!(has("0.0.0.0/0", "8.8.8.8") && !has("0.0.0.0/0", "fd00::1"));
        assert!(has("fd00::/8", "fd12::1") && !has("fd00::/8", "fe80::1"));
        assert!(has("::/0", "::1") && has("::/0", "1.2.3.4"));
        assert!(has("192.168.7.0/24", "::ffff:192.168.7.9"), "a socket for both shows it so");
        for wrong in ["", "here", "10.0.0.0/33", "10.0.0.0/x", "10.0.0", "::/129"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_export_without_rules_is_open_and_each_rule_closes_it() {
        let near: IpAddr = "10.0.0.1".parse().expect("an address");
        let far: IpAddr = "11.0.0.1".parse().expect("an address");
        let no_name = |_: &str| false;
        assert!(Access::default().is_open() && Access::default().admits(Some(far), no_name));
        let networks = vec!["10.0.0.0/8".parse().expect("a network")];
        let access = Access { networks, names: Vec::new() };
        assert!(access.admits(Some(near), no_name) && !access.admits(Some(far), no_name));
        assert!(access.admits(None, no_name), "a Unix socket has owners of its own");
        let access = Access { names: vec!["mail".into()], ..access };
        assert!(!access.admits(Some(near), no_name) && access.admits(None, |name| name == "mail"));
    }
}

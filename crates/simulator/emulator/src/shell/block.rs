//! Addresses and names of the devices of shells.
//!
//! Each shell has a block of addresses: the first four are the network of its link, the others are for shells inside
//! it. Thus each namespace has one route for each of its shells, and no address is translated.

use std::fmt;
use std::net::Ipv4Addr;

/// First address: the shared address space of RFC 6598, 100.64.0.0/10.
const FIRST_ADDRESS: u32 = u32::from_be_bytes([100, 64, 0, 0]);
/// Prefix length of the network of a link.
pub(super) const LINK_PREFIX: u8 = 30;
/// Prefix length of a block at each level: shells of the system, shells inside these, and so on. 256 shells are possible
/// in the system, 15 or 7 in a shell of the first levels.
const PREFIXES: [u8; 6] = [18, 22, 25, 28, 29, 30];
/// Prefix length of the block of all shells.
const ALL_PREFIX: u8 = 10;

/// Side of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The namespace of the command.
    Inner,
    /// The namespace of the gateway.
    Outer,
}

/// Block of addresses of a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Number of shells around this one.
    level: usize,
    /// Number of the block's first link: the distance of its network from the first one, in networks of four addresses.
    link: u32,
}

impl Block {
    /// Returns the possible blocks of a new shell in a network namespace whose devices have these names, in the order in
    /// which they are tried.
    pub(super) fn candidates<'a>(names: impl Iterator<Item = &'a str>) -> impl Iterator<Item = Self> {
        let around = names.filter_map(|name| Self::parse(name, Side::Inner)).next();
        let level = around.map_or(0, |around| around.level + 1);
        let (first, outer_prefix) = around.map_or((0, ALL_PREFIX), |around| (around.link, PREFIXES[around.level]));
        let prefix = PREFIXES.get(level).copied();
        // The first block inside a shell contains the network of the link itself.
        let start = u32::from(around.is_some());
        prefix.into_iter().flat_map(move |prefix| {
            let size = 1 << (LINK_PREFIX - prefix);
            (start..1 << (prefix - outer_prefix)).map(move |number| Self { level, link: first + number * size })
        })
    }

    /// Returns the name of the device at a side: `headway0-0` inside the first shell, `shell0-0` outside.
    pub(super) fn device(self, side: Side) -> String {
        format!("{}{self}", prefix(side))
    }

    fn parse(name: &str, side: Side) -> Option<Self> {
        let (level, link) = name.strip_prefix(prefix(side))?.split_once('-')?;
        let block = Self { level: level.parse().ok()?, link: u32::from_str_radix(link, 16).ok()? };
        let is_valid = block.level < PREFIXES.len() && block.link < 1 << (LINK_PREFIX - ALL_PREFIX);
        is_valid.then_some(block)
    }

    /// Returns whether this is the name of a device outside a shell.
    pub(super) fn is_outer_device(name: &str) -> bool {
        Self::parse(name, Side::Outer).is_some()
    }

    /// Returns the first address of the block, and its prefix length.
    pub(super) fn network(self) -> (Ipv4Addr, u8) {
        (Ipv4Addr::from_bits(FIRST_ADDRESS + 4 * self.link), PREFIXES[self.level])
    }

    /// Returns the address of the link at a side.
    pub(super) fn address(self, side: Side) -> Ipv4Addr {
        let host = match side {
            Side::Outer => 1,
            Side::Inner => 2,
        };
        Ipv4Addr::from_bits(self.network().0.to_bits() + host)
    }

    /// Returns whether the shell is inside another one.
    pub(super) fn is_nested(self) -> bool {
        self.level > 0
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:x}", self.level, self.link)
    }
}

fn prefix(side: Side) -> &'static str {
    match side {
        Side::Inner => "headway",
        Side::Outer => "shell",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(names: &[&str]) -> Vec<Block> {
        Block::candidates(names.iter().copied()).collect()
    }

    #[test]
    fn the_first_shell_has_the_first_addresses_of_rfc_6598() {
        let block = blocks(&["lo", "eth0", "shell0-0", "headway", "headway9-0", "headway0-zz"])[0];
        assert_eq!(block.network(), (Ipv4Addr::new(100, 64, 0, 0), 18));
        assert_eq!(
            [Side::Outer, Side::Inner].map(|side| block.address(side).to_string()),
            ["100.64.0.1", "100.64.0.2"]
        );
        assert_eq!([Side::Outer, Side::Inner].map(|side| block.device(side)), ["shell0-0", "headway0-0"]);
        assert!(!block.is_nested());
    }

    /// The block of a shell contains those of the shells inside it, which are disjoint and do not contain the network
    /// of its link.
    #[test]
    fn blocks_are_nested_and_disjoint() {
        let range = |block: Block| {
            let (first, prefix) = block.network();
            let first = u64::from(first.to_bits());
            first..first + (1 << (32 - prefix))
        };
        let mut outer = blocks(&[]);
        assert_eq!(outer.len(), 256);
        assert_eq!(outer[255].network().0, Ipv4Addr::new(100, 127, 192, 0));
        for count in [15, 7, 7, 1, 1] {
            let around = outer[outer.len() - 1];
            let inner = blocks(&[&around.device(Side::Inner), "lo"]);
            assert_eq!(inner.len(), count);
            let mut end = range(around).start + 4;
            for block in &inner {
                assert!(block.is_nested() && block.device(Side::Inner).len() <= 15);
                let range = range(*block);
                assert!(range.start >= end, "{block}");
                end = range.end;
            }
            assert!(end <= range(around).end);
            outer = inner;
        }
        assert_eq!(blocks(&[&outer[0].device(Side::Inner)]), []);
    }
}

//! TUN devices and their addresses.

use super::block::{Block, LINK_PREFIX, Side};
use super::error::ShellError;
use headway_link::Config;
use rtnetlink::packet_route::link::LinkMessage;
use rtnetlink::{Error, Handle, LinkUnspec, RouteMessageBuilder};
use std::fmt;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use tun_rs::{DeviceBuilder, SyncDevice};

/// Number of packets that the kernel holds until the emulator reads them. Packets above it are lost.
const QUEUE_PACKETS: u32 = 10_000;
/// MTU of the devices, in bytes (RFC 894), unless a link has an MTU.
const DEFAULT_MTU: u32 = 1500;
/// Range of the MTU of an IPv4 device in Linux, in bytes (RFC 791 section 3.2).
const MTUS: std::ops::RangeInclusive<u32> = 68..=65_535;
/// Prefix length of an address without a network.
const HOST_PREFIX: u8 = 32;

/// Device at one side of a link.
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) tun: SyncDevice,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Returns the MTU of the devices at the ends of these directions: the smallest one.
pub(crate) fn mtu<'a>(directions: impl Iterator<Item = &'a Config>) -> u32 {
    let mtus = directions.filter_map(|config| config.mtu);
    let least = mtus.map(|mtu| u32::try_from(mtu.count()).unwrap_or(u32::MAX)).min();
    least.unwrap_or(DEFAULT_MTU).clamp(*MTUS.start(), *MTUS.end())
}

/// Creates the outer device of a new shell in the network namespace of this thread, without an address.
pub(super) fn create_outer() -> Result<(Block, Device), ShellError> {
    let interfaces = nix::net::if_::if_nameindex().map_err(|error| ShellError::Tun(error.into()))?;
    let names = interfaces.iter().filter_map(|interface| interface.name().to_str().ok());
    for block in Block::candidates(names) {
        match create(&block.device(Side::Outer)) {
            Ok(device) => return Ok((block, device)),
            // Another shell has the block.
            Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EBUSY as i32) => {}
            Err(error) => return Err(ShellError::Tun(error)),
        }
    }
    Err(ShellError::NoBlock)
}

/// Creates the inner device of a shell.
pub(super) fn create_inner(block: Block) -> Result<Device, ShellError> {
    create(&block.device(Side::Inner)).map_err(ShellError::Tun)
}

/// Creates a device in the network namespace of this thread, without an address.
pub(crate) fn create(name: &str) -> io::Result<Device> {
    // The device is configured by netlink. Offload (IFF_VNET_HDR) would read up to 64 KiB of a TCP connection with one
    // call, but this process would then split it into packets and compute their checksums, which the kernel does now.
    // Packets of other protocols would still need a call each.
    let tun = DeviceBuilder::new().name(name).enable(false).build_sync()?;
    tun.set_nonblocking(true)?;
    Ok(Device { name: name.to_owned(), tun })
}

/// Configures the device of a node in the network namespace of this thread: for each pair of an own address and that of
/// a peer, the own address and a route to the peer. The loopback device is set up.
pub(crate) fn configure_node(device: &Device, pairs: &[[Ipv4Addr; 2]], mtu: u32) -> Result<(), ShellError> {
    configure_with(device, mtu, async |netlink, interface| {
        set_loopback_up(netlink, device).await?;
        for [own, peer] in pairs {
            let add = netlink.address().add(interface, (*own).into(), HOST_PREFIX);
            add.execute().await.map_err(|error| refused("an address of", device, &error))?;
            let route = RouteMessageBuilder::<Ipv4Addr>::new().destination_prefix(*peer, HOST_PREFIX);
            let route = route.output_interface(interface).pref_source(*own).build();
            let add = netlink.route().add(route);
            add.execute().await.map_err(|error| refused("a route of", device, &error))?;
        }
        Ok(())
    })
}

/// Configures the device of a shell at this side, in the network namespace of this thread. The inner side gets a default
/// route, and its loopback device is set up. The outer side gets a route to the shells inside this one.
pub(super) fn configure(device: &Device, block: Block, side: Side, mtu: u32) -> Result<(), ShellError> {
    if side == Side::Outer && block.is_nested() {
        // This namespace is that of the shell around this one, and ends with it.
        fs::write("/proc/sys/net/ipv4/ip_forward", "1").map_err(|error| refused("forwarding for", device, &error))?;
    }
    configure_with(device, mtu, async |netlink, interface| {
        let add = netlink.address().add(interface, block.address(side).into(), LINK_PREFIX);
        add.execute().await.map_err(|error| refused("the address of", device, &error))?;
        let route = RouteMessageBuilder::<Ipv4Addr>::new();
        let route = match side {
            Side::Inner => {
                set_loopback_up(netlink, device).await?;
                route.gateway(block.address(Side::Outer))
            }
            Side::Outer => {
                let (address, prefix) = block.network();
                if prefix == LINK_PREFIX {
                    return Ok(());
                }
                route.destination_prefix(address, prefix).gateway(block.address(Side::Inner))
            }
        };
        let add = netlink.route().add(route.build());
        add.execute().await.map_err(|error| refused("the route of", device, &error))
    })
}

/// Sets a device up, then configures its addresses and routes.
fn configure_with(
    device: &Device,
    mtu: u32,
    configure: impl AsyncFnOnce(&Handle, u32) -> Result<(), ShellError>,
) -> Result<(), ShellError> {
    // Otherwise the kernel sends router solicitations over the link. Fails on systems without IPv6.
    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", device.name), "1");
    let interface = device.tun.if_index().map_err(|error| refused("the index of", device, &error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(ShellError::Link)?;
    runtime.block_on(async {
        let (connection, netlink, _) = rtnetlink::new_connection().map_err(ShellError::Link)?;
        runtime.spawn(connection);
        let up = LinkUnspec::new_with_index(interface).mtu(mtu).txqueuelen(QUEUE_PACKETS).up().build();
        set(&netlink, up).await.map_err(|error| refused("the MTU of", device, &error))?;
        configure(&netlink, interface).await
    })
}

fn refused(what: &str, device: &Device, error: &impl fmt::Display) -> ShellError {
    ShellError::Configure { what: format!("{what} {}", device.name), reason: error.to_string() }
}

async fn set_loopback_up(netlink: &Handle, device: &Device) -> Result<(), ShellError> {
    let up = LinkUnspec::new_with_name("lo").up().build();
    set(netlink, up).await.map_err(|error| refused("the loopback device next to", device, &error))
}

async fn set(netlink: &Handle, message: LinkMessage) -> Result<(), Error> {
    netlink.link().set(message).execute().await
}

/// Returns the number of packets that the kernel dropped since the device was created, because the emulator did not
/// read them in time. Must be called in the network namespace of the device; 0 if the device no longer exists.
pub(crate) fn dropped_packets(name: &str) -> u64 {
    // Columns 1 to 8 are those of received packets; column 12 counts dropped packets of the sending side (proc(5)).
    let table = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let line = table.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().nth(11)?.parse().ok()).unwrap_or(0)
}

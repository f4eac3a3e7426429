//! Nodes of a lab: network namespaces with one TUN device each.

use crate::namespace;
use crate::shell::device::{self, Device};
use crate::shell::error::ShellError;
use std::fs::File;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread::Builder;

/// Name of the device in each namespace.
const DEVICE: &str = "headway";

/// Network namespace of a node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) device: Arc<Device>,
    namespace: Arc<File>,
}

/// Own address of a flow at a node, and the address of the peer.
pub(super) type AddressPair = [Ipv4Addr; 2];

impl Node {
    /// Creates the namespace and its device. Packets to the peer of each pair leave through the device.
    pub(super) fn new(pairs: Vec<AddressPair>, mtu: u32) -> Result<Self, ShellError> {
        let create = move || {
            namespace::enter_network()?;
            let namespace = File::open("/proc/thread-self/ns/net").map_err(ShellError::Namespace)?;
            let device = device::create(DEVICE).map_err(ShellError::Tun)?;
            device::configure_node(&device, &pairs, mtu)?;
            Ok(Self { device: Arc::new(device), namespace: Arc::new(namespace) })
        };
        let panicked = |_| ShellError::Namespace(std::io::Error::other("the thread of a node panicked"));
        Builder::new().name("node".to_owned()).spawn(create).map_err(ShellError::Link)?.join().map_err(panicked)?
    }

    /// Moves this thread into the namespace.
    pub(super) fn enter(&self) -> Result<(), ShellError> {
        namespace::enter_existing(&self.namespace)
    }

    /// Returns the packets that the kernel dropped because the lab did not read them in time.
    pub(super) fn unread_packets(&self) -> u64 {
        let node = self.clone();
        let count = move || node.enter().map_or(0, |()| device::dropped_packets(DEVICE));
        Builder::new().spawn(count).ok().and_then(|thread| thread.join().ok()).unwrap_or(0)
    }
}

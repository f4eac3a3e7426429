//! A path with losses and a delay of 20 ms between two sockets of this machine.

use headway_emulator::{Proxy, ProxyOptions};
use headway_units::Duration;
use std::net::SocketAddr;

/// Interval of datagrams until one has arrived.
pub const GAP: std::time::Duration = std::time::Duration::from_millis(10);

/// Properties of the path.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Percentage of packets lost in each direction.
    pub loss_pct: usize,
    /// Seed of the losses.
    pub seed: u64,
}

/// Places the path in front of a server and returns the address to connect to. It lasts until the process ends.
pub fn behind_link(server: SocketAddr, path: Path) -> SocketAddr {
    let Path { loss_pct, seed } = path;
    let text = format!(
        "[[link]]\nbetween = [\"client\", \"server\"]\nrate = \"1Gbps\"\ndelay = \"20ms\"\nloss = {{ kind = \"bernoulli\", probability = \"{loss_pct}%\" }}\n"
    );
    let links = headway_scenario::links("link", &text, &[], &headway_scenario::NoFiles).expect("the link is right");
    let config = &links.links[0].config;
    let options = ProxyOptions {
        listen: "127.0.0.1:0".parse().unwrap(),
        to: server,
        overhead: None,
        clients: 256,
        bound: Duration::from_millis(1),
    };
    let mut proxy = Proxy::new(options, links.ties, [("a", config), ("b", config)], seed).unwrap();
    let address = proxy.address().unwrap();
    std::thread::spawn(move || while proxy.turn(Duration::from_millis(100)).is_ok() {});
    address
}

/// Prints the times in ms.
pub fn print(seconds: impl Iterator<Item = f64>) {
    let times: Vec<String> = seconds.map(|seconds| format!("{:.2}", seconds * 1e3)).collect();
    println!("{}", times.join(" "));
}

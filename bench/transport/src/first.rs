//! A path of 20 ms each way between two sockets of this machine, which may lose packets.

use headway_emulator::{Proxy, ProxyOptions};
use headway_units::Duration;
use std::net::SocketAddr;

/// From one datagram to the next, till one has arrived.
pub const GAP: std::time::Duration = std::time::Duration::from_millis(10);

/// What the path does.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Of a hundred packets so many are lost, each way.
    pub loss_pct: usize,
    /// Which.
    pub seed: u64,
}

/// Puts the path in front of a server; where to connect to instead. It lasts as long as the process.
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
        beside: None,
        clients: 256,
        bound: Duration::from_millis(1),
    };
    let mut proxy = Proxy::new(options, links.ties, [("a", config), ("b", config)], seed).unwrap();
    let address = proxy.address().unwrap();
    std::thread::spawn(move || while proxy.turn(Duration::from_millis(100)).is_ok() {});
    address
}

/// Milliseconds of each.
pub fn print(seconds: impl Iterator<Item = f64>) {
    let times: Vec<String> = seconds.map(|seconds| format!("{:.2}", seconds * 1e3)).collect();
    println!("{}", times.join(" "));
}

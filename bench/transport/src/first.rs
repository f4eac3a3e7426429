//! A path of 20 ms each way between two sockets of this machine.

use headway_net::proxy::{Proxy, ProxyOptions};
use headway_units::Duration;
use std::net::SocketAddr;

/// Puts the path in front of a server; where to connect to instead. It lasts as long as the process.
pub fn behind_link(server: SocketAddr) -> SocketAddr {
    let text = "[[link]]\nbetween = [\"client\", \"server\"]\nrate = \"1Gbps\"\ndelay = \"20ms\"\n";
    let links = headway_scenario::links("link", text, &[], &headway_scenario::NoFiles).expect("the link is right");
    let config = links.links[0].config(links.ties);
    let options = ProxyOptions {
        listen: "127.0.0.1:0".parse().unwrap(),
        to: server,
        beside: None,
        bound: Duration::from_millis(1),
    };
    let mut proxy = Proxy::new(options, [("a", &config), ("b", &config)], 1).unwrap();
    let address = proxy.address().unwrap();
    std::thread::spawn(move || while proxy.turn(Duration::from_millis(100)).is_ok() {});
    address
}

/// Milliseconds of each.
pub fn print(seconds: impl Iterator<Item = f64>) {
    let times: Vec<String> = seconds.map(|seconds| format!("{:.2}", seconds * 1e3)).collect();
    println!("{}", times.join(" "));
}

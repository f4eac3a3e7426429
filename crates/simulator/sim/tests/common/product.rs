//! Send queues, sources and paths of the liveness and recovery tests.

pub const QUEUES: [&str; 12] = [
    "sure-first",
    "fifo",
    "ring",
    "sfdps1",
    "edf",
    "prio",
    "sfdps2",
    "ring-3",
    "ring-sfdps2",
    "score",
    "patient",
    "priority",
];

/// Large and small packets with and without priorities, bursts, and a thin stream of small packets.
pub const SOURCES: [(&str, &str); 6] = [
    ("trace", "kind = \"trace\", file = \"media/conference.txt\", loop = true, lifetime = \"200ms\""),
    (
        "gop",
        "kind = \"gop\", i_mean = \"26kB\", p_mean = \"6kB\", b_mean = \"2kB\", variation = 0.25, lifetime = \"200ms\"",
    ),
    ("audio", "kind = \"cbr\", interval = \"20ms\", payload = \"60B\", media = \"audio\", lifetime = \"200ms\""),
    (
        "bursts",
        "kind = \"exponential\", rate = \"600kbps\", payload = \"300B\", media = \"audio\", lifetime = \"200ms\"",
    ),
    ("conference", "kind = \"conference\""),
    ("cbr", "kind = \"cbr\", rate = \"1Mbps\", payload = \"1200B\", media = \"video\", lifetime = \"200ms\""),
];

/// Sources that fill the path: saturated, and at one and a half times the path's rate ([`PATH_RATE`] is replaced).
pub const FILLING: [(&str, &str); 2] = [
    ("ftp", "kind = \"ftp\""),
    (
        "cbr 1.5",
        "kind = \"cbr\", rate = \"1.5 PATH_RATE\", payload = \"1200B\", media = \"video\", lifetime = \"200ms\"",
    ),
];
/// Placeholder in [`FILLING`] for one and a half times the path's rate.
pub const PATH_RATE: &str = "1.5 PATH_RATE";

/// Rate in Mb/s, delay in ms, queue in packets.
pub type Path = (u32, u32, u32);
/// A short path, a fast one and a long one.
pub const PATHS: [Path; 3] = [(3, 15, 25), (10, 2, 20), (2, 100, 40)];
/// Long paths whose queue is a fifth to a third of the bandwidth-delay product.
pub const SHORT_QUEUES: [Path; 4] = [(6, 50, 10), (6, 75, 30), (6, 100, 30), (3, 150, 30)];
/// A long path whose queue is twice the bandwidth-delay product: a filling source triples its round-trip time.
pub const DEEP: Path = (6, 100, 200);

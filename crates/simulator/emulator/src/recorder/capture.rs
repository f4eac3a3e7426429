//! Packet captures of the ends of links, in pcapng format.

use super::{PacketEvent, PacketEventKind, PacketSink};
use headway_record::{PcapngDirection, PcapngInterface, PcapngPacket, PcapngWriter};
use headway_units::{Duration, Instant};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Name of the file with the dropped packets.
const DROPS: &str = "drops";

/// Captures of a folder: `NODE.pcapng` for each node at an end of a link, with the packets that it sends and receives,
/// and `drops.pcapng` with the dropped packets, whose comments name the cause. The interfaces of a node have the names
/// of the node and its neighbor, such as `a-b`. The interfaces in `drops.pcapng` have the names of link directions,
/// such as `a->b`. Timestamps are dates and times (Unix time).
pub struct Capture {
    folder: PathBuf,
    epoch: Duration,
    /// The nodes in the order of their names' first occurrence, then the dropped packets.
    files: Vec<(String, PcapngWriter<BufWriter<File>>)>,
    /// Ends of each direction.
    paths: Vec<[String; 2]>,
    /// Interfaces of each direction, in the files of its sender, of its receiver, and of the dropped packets.
    interfaces: Vec<[(usize, PcapngInterface); 3]>,
}

impl Capture {
    /// Creates the folder and the files. `paths` has the sender and the receiver of each direction, whose index is
    /// [`PacketEvent::path`].
    ///
    /// # Errors
    /// Errors of the system.
    pub fn create(folder: &Path, paths: &[[&str; 2]]) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut capture = Self {
            folder: folder.to_owned(),
            epoch: Duration::ZERO,
            files: Vec::new(),
            paths: paths.iter().map(|ends| ends.map(str::to_owned)).collect(),
            interfaces: Vec::new(),
        };
        for name in paths.iter().flatten().chain(&[DROPS]) {
            if capture.files.iter().all(|(file, _)| file != name) {
                let file = File::create(folder.join(format!("{name}.pcapng")))?;
                capture.files.push(((*name).to_owned(), PcapngWriter::new(BufWriter::new(file))?));
            }
        }
        Ok(capture)
    }
}

impl PacketSink for Capture {
    fn path(&self) -> &Path {
        &self.folder
    }

    fn needs_bytes(&self) -> bool {
        true
    }

    fn begin(&mut self, epoch: Duration) -> io::Result<()> {
        self.epoch = epoch;
        // Both directions of a link have one interface at each end.
        let mut known: Vec<(usize, String, PcapngInterface)> = Vec::new();
        for [from, to] in &self.paths {
            let mut interface = |file: &str, name: String| {
                let number = self.files.iter().position(|(name, _)| name == file).unwrap_or_default();
                if let Some((.., known)) = known.iter().find(|(file, other, _)| (*file, other) == (number, &name)) {
                    return io::Result::Ok((number, *known));
                }
                let interface = self.files[number].1.interface(&name)?;
                known.push((number, name, interface));
                Ok((number, interface))
            };
            let sender = interface(from, format!("{from}-{to}"))?;
            let receiver = interface(to, format!("{to}-{from}"))?;
            let dropped = interface(DROPS, format!("{from}->{to}"))?;
            self.interfaces.push([sender, receiver, dropped]);
        }
        self.flush()
    }

    fn record(&mut self, event: &PacketEvent) -> io::Result<()> {
        let Some([sender, receiver, dropped]) = self.interfaces.get(event.path) else { return Ok(()) };
        let (end, direction, comment) = match event.kind {
            PacketEventKind::Arrived => (sender, PcapngDirection::Outbound, String::new()),
            PacketEventKind::Departed => (receiver, PcapngDirection::Inbound, String::new()),
            PacketEventKind::Dropped(cause) => {
                let comment = format!("dropped ({}) after {}", cause.name(), event.at.since(event.arrived_at));
                (dropped, PcapngDirection::Outbound, comment)
            }
        };
        let (file, interface) = *end;
        self.files[file].1.packet(&PcapngPacket {
            interface,
            at: event.at + self.epoch,
            direction,
            bytes: &event.bytes,
            length: event.size,
            comment: &comment,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.files.iter_mut().try_for_each(|(_, file)| file.get_mut().flush())
    }

    fn finish(&mut self, _: Instant) -> io::Result<()> {
        self.flush()
    }
}

//! No security: DCCP in UDP as RFC 6773 has it, for peers that know nothing else. Whoever sees a packet can forge the next.

use super::{Secure, SecureError, SecureEvent};
use headway_dccp::Path;
use headway_units::Instant;

/// Each packet is a datagram.
#[derive(Debug, Default)]
pub struct Plain {
    ready: std::collections::VecDeque<Path>,
}

impl Secure for Plain {
    fn overhead(&self) -> usize {
        0
    }
    fn connect(&mut self, _: Instant, path: Path) -> Result<(), SecureError> {
        self.ready.push_back(path);
        Ok(())
    }
    fn handle_datagram(&mut self, _: Instant, path: Path, datagram: &mut [u8], deliver: &mut dyn FnMut(Path, &[u8])) {
        deliver(path, datagram);
    }
    fn seal(&mut self, _: Instant, session: Path, packet: &[u8], datagram: &mut Vec<u8>) -> Option<Path> {
        datagram.extend_from_slice(packet);
        Some(session)
    }
    fn poll_transmit(&mut self, _: Instant, _: &mut Vec<u8>) -> Option<Path> {
        None
    }
    fn poll_event(&mut self) -> Option<SecureEvent> {
        self.ready.pop_front().map(|session| SecureEvent::Ready { session, accepted: false })
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn handle_timeout(&mut self, _: Instant) {}
    fn close(&mut self, _: Instant, _: Path) {}
}

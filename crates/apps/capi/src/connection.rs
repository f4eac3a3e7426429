//! Connections.

use crate::event::HeadwayEvent;
use crate::failure::{Failure, set_last_error};
use crate::statistics::HeadwayStatistics;
use headway_net::{Closed, Connection, Duration, Event, Media};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A connection. Several threads may use it: one may send while another receives.
#[derive(Debug)]
pub struct HeadwayConnection {
    connection: Connection,
    received: Mutex<Received>,
}

#[derive(Debug, Default)]
struct Received {
    /// Datagrams that were larger than the buffer of the caller.
    returned: VecDeque<Vec<u8>>,
    /// Buffer of the previous datagram, for reuse.
    spare: Vec<u8>,
}

impl HeadwayConnection {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, received: Mutex::default() }
    }

    pub(crate) fn connected(&self) -> Result<(), Failure> {
        Ok(self.connection.connected()?)
    }

    pub(crate) fn send(&self, media: Media<'_>) -> Result<u64, Failure> {
        Ok(self.connection.send(media)?)
    }

    /// Waits for a datagram and passes it to `accept`. A datagram that `accept` refuses is received again by the next
    /// call.
    pub(crate) fn receive(
        &self,
        timeout: Option<Duration>,
        accept: impl FnOnce(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // Nothing is locked during the wait: other threads may receive at the same time.
        let returned = self.received().returned.pop_front();
        let datagram = match returned {
            Some(datagram) => datagram,
            None => {
                let mut datagram = std::mem::take(&mut self.received().spare);
                match timeout {
                    None => self.connection.recv(&mut datagram)?,
                    Some(timeout) => self.connection.recv_timeout(&mut datagram, timeout).ok_or(Failure::Timeout)??,
                }
                datagram
            }
        };
        let accepted = accept(&datagram);
        let mut received = self.received();
        match accepted {
            Ok(()) => received.spare = datagram,
            Err(_) => received.returned.push_front(datagram),
        }
        accepted
    }

    /// Waits for an event. The end also sets the text of the last error.
    pub(crate) fn next_event(&self, timeout: Option<Duration>) -> Result<HeadwayEvent, Failure> {
        let event = match timeout {
            None => self.connection.next_event(),
            Some(timeout) => self.connection.event_timeout(timeout),
        };
        // Without an event, either the timeout has passed or the last event has been read.
        let event = event.map_or_else(
            || self.connection.poll_event(&Context::from_waker(Waker::noop())),
            |one| Poll::Ready(Some(one)),
        );
        match event {
            Poll::Ready(Some(event)) => {
                if let Event::Closed(why) = &event {
                    set_last_error(&why.to_string());
                }
                Ok(HeadwayEvent { size: size_of::<HeadwayEvent>(), ..HeadwayEvent::from(&event) })
            }
            Poll::Ready(None) => Err(Failure::NoMoreEvents),
            Poll::Pending => Err(Failure::Timeout),
        }
    }

    /// Returns the rate that an encoder should produce, in bit/s; 0 before the connection is established.
    pub(crate) fn encoder_rate(&self) -> u64 {
        self.connection.encoding_rate().map_or(0, |rate| rate.bits_per_second())
    }

    pub(crate) fn largest(&self) -> usize {
        self.connection.largest()
    }

    pub(crate) fn statistics(&self) -> Result<HeadwayStatistics, Failure> {
        HeadwayStatistics::of(&self.connection).ok_or(Failure::NoStatistics)
    }

    pub(crate) fn start_close(&self) {
        self.connection.start_close();
    }

    pub(crate) fn close(self) -> Closed {
        self.connection.close()
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::HeadwayEndpoint;
    use crate::options::HeadwayOptions;

    fn pair() -> [HeadwayConnection; 2] {
        let options = HeadwayOptions::insecure();
        let server = HeadwayEndpoint::listen(&options, "127.0.0.1:0").unwrap();
        let client = HeadwayEndpoint::open(&options).unwrap();
        let sender = client.connect(&format!("127.0.0.1:{}", server.port())).unwrap();
        let receiver = server.accept(None).unwrap();
        [sender, receiver]
    }

    /// A datagram for which the caller's buffer is too small is not lost.
    #[test]
    fn a_refused_datagram_is_received_again() {
        let [sender, receiver] = pair();
        sender.send(Media::new(&[1, 2, 3])).unwrap();
        let refused = receiver.receive(None, |_| Err(Failure::Null("buffer")));
        assert!(matches!(refused, Err(Failure::Null(_))));
        let mut again = Vec::new();
        receiver
            .receive(Some(Duration::ZERO), |datagram| {
                again.extend_from_slice(datagram);
                Ok(())
            })
            .unwrap();
        assert_eq!(again, [1, 2, 3]);
        assert!(matches!(receiver.receive(Some(Duration::ZERO), |_| Ok(())), Err(Failure::Timeout)));
    }

    /// After the last event a caller that waits without a limit gets an error, and not silence.
    #[test]
    fn the_end_is_the_last_event() {
        let [sender, receiver] = pair();
        sender.connected().unwrap();
        assert!(sender.statistics().unwrap().acknowledged_packets > 0);
        assert_eq!(sender.close(), Closed::Here);
        while receiver.next_event(None).unwrap().kind != crate::event::HeadwayEventKind::Closed {}
        for timeout in [None, Some(Duration::ZERO)] {
            assert!(matches!(receiver.next_event(timeout), Err(Failure::NoMoreEvents)));
        }
        assert!(matches!(receiver.receive(None, |_| Ok(())), Err(Failure::Closed(Closed::ByPeer))));
    }
}

//! The kernel's endpoint: a DCCP socket of Linux.

use crate::data::{Sending, Tally};
use crate::sys;
use serde::Deserialize;
use serde_json::{Value, json};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Options of level SOL_DCCP, of Linux's include/uapi/linux/dccp.h.
mod option {
    pub(super) const SERVICE: i32 = 2;
    pub(super) const SERVER_TIMEWAIT: i32 = 6;
    pub(super) const SEND_CSCOV: i32 = 10;
    pub(super) const RECV_CSCOV: i32 = 11;
    pub(super) const TX_CCID: i32 = 14;
    pub(super) const RX_CCID: i32 = 15;
    pub(super) const QPOLICY_TXQLEN: i32 = 17;
    pub(super) const CCID_TX_INFO: i32 = 192;
}

/// Configuration of this endpoint.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    /// Address of the server.
    address: IpAddr,
    port: u16,
    server: bool,
    /// Service codes.
    #[serde(default)]
    services: Vec<u32>,
    #[serde(default)]
    send_ccids: Vec<u8>,
    #[serde(default)]
    receive_ccids: Vec<u8>,
    #[serde(default)]
    send_coverage: Option<i32>,
    #[serde(default)]
    minimum_coverage: Option<i32>,
    /// Length of the send queue, in packets.
    #[serde(default)]
    queue: Option<i32>,
    #[serde(default)]
    server_time_wait: bool,
    #[serde(default)]
    send: Sending,
    #[serde(default)]
    echo: bool,
    /// Time in ms from the end of sending to closing; if absent, closes after the peer.
    #[serde(default)]
    close_after_ms: Option<u64>,
    /// Whether to close with a linger time of zero, which sends a Reset.
    #[serde(default)]
    abort: bool,
    /// Whether to open no socket.
    #[serde(default)]
    deaf: bool,
    /// Time limit in ms.
    #[serde(default = "limit")]
    limit_ms: u64,
}

const fn limit() -> u64 {
    60_000
}

/// Runs the endpoint.
pub(crate) fn play(spec: Spec) -> Result<Value, Box<dyn Error>> {
    if spec.deaf {
        return Ok(json!({}));
    }
    let start = Instant::now();
    let address = SocketAddr::new(spec.address, spec.port);
    let socket = Socket::new(Domain::for_address(address), Type::from(6), Some(Protocol::from(33)))?;
    let services: Vec<u8> = spec.services.iter().flat_map(|code| code.to_be_bytes()).collect();
    for (number, value) in [
        (option::SERVICE, services),
        (option::TX_CCID, spec.send_ccids.clone()),
        (option::RX_CCID, spec.receive_ccids.clone()),
        (option::SEND_CSCOV, integer(spec.send_coverage)),
        (option::RECV_CSCOV, integer(spec.minimum_coverage)),
        (option::QPOLICY_TXQLEN, integer(spec.queue)),
    ] {
        if !value.is_empty() {
            sys::set_option(&socket, number, &value).map_err(|error| format!("option {number}: {error}"))?;
        }
    }
    let socket = if spec.server {
        socket.set_reuse_address(true)?;
        socket.bind(&SockAddr::from(address))?;
        socket.listen(8)?;
        socket.set_read_timeout(Some(Duration::from_millis(spec.limit_ms)))?;
        match socket.accept() {
            Ok((accepted, _)) => accepted,
            Err(error) => {
                return Ok(
                    json!({ "connect_errno": error.raw_os_error(), "connect_s": start.elapsed().as_secs_f64() }),
                );
            }
        }
    } else {
        if let Err(error) = socket.connect(&SockAddr::from(address)) {
            return Ok(json!({ "connect_errno": error.raw_os_error(), "connect_s": start.elapsed().as_secs_f64() }));
        }
        socket
    };
    let connected = start.elapsed();
    if spec.server_time_wait {
        sys::set_option(&socket, option::SERVER_TIMEWAIT, &1i32.to_ne_bytes())?;
    }
    socket.set_read_timeout(Some(Duration::from_millis(20)))?;
    let ccids = [option::TX_CCID, option::RX_CCID].map(|number| read_integer(&socket, number));
    let (stop, over, echoed) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU32::new(0));
    let limit = start + Duration::from_millis(spec.limit_ms);
    let (tally, end, sent) = thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let end = receive(&socket, spec.echo, &echoed, &stop);
            over.store(true, Ordering::Relaxed);
            end
        });
        let sent = send(&socket, &spec.send, &over);
        let settle = spec.close_after_ms.map_or(limit, |wait| limit.min(Instant::now() + Duration::from_millis(wait)));
        while !over.load(Ordering::Relaxed) && Instant::now() < settle {
            thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        let (tally, end) = receiver.join().unwrap_or_default();
        (tally, end, sent)
    });
    let transmit = transmit_info(&socket);
    let closed = start.elapsed();
    if spec.abort {
        socket.set_linger(Some(Duration::ZERO))?;
    }
    drop(socket);
    Ok(json!({
        "connect_s": connected.as_secs_f64(), "close_s": closed.as_secs_f64(),
        "send_ccid": ccids[0], "receive_ccid": ccids[1], "sent": sent.0 + echoed.into_inner(), "refused": sent.1, "send_errno": sent.2,
        "tally": tally, "end": end, "transmit": transmit,
    }))
}

fn integer(value: Option<i32>) -> Vec<u8> {
    value.map_or_else(Vec::new, |value| value.to_ne_bytes().to_vec())
}

fn read_integer(socket: &Socket, number: i32) -> Option<i32> {
    let mut bytes = [0; 4];
    sys::option(socket, number, &mut bytes).ok().map(|()| i32::from_ne_bytes(bytes))
}

/// Returns CCID 3's X in bytes/s, its round-trip time in us, and p in millionths.
fn transmit_info(socket: &Socket) -> Option<Value> {
    let mut bytes = [0; 40];
    sys::option(socket, option::CCID_TX_INFO, &mut bytes).ok()?;
    let word = |at: usize| bytes.get(at..at + 4)?.first_chunk().map(|word| u32::from_ne_bytes(*word));
    let x = u64::from_ne_bytes(*bytes.first_chunk()?) >> 6;
    Some(json!({ "x": x, "rtt_us": word(20), "p_millionths": word(24) }))
}

/// Sends all data. Returns the numbers of sent and refused datagrams, and the error that ended sending.
fn send(mut socket: &Socket, sending: &Sending, over: &AtomicBool) -> (u32, u32, Option<i32>) {
    let (start, mut sent, mut refused, mut index) = (Instant::now(), 0, 0, 0);
    while let Some(due) = sending.due(index).filter(|_| !sending.is_over(start.elapsed())) {
        if over.load(Ordering::Relaxed) {
            break;
        }
        thread::sleep(due.saturating_sub(start.elapsed()));
        match socket.write(&sending.datagram(index)) {
            Ok(_) => sent += 1,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                refused += 1;
                // A full queue drops the newest packet; without a schedule it is sent again.
                if sending.due(1) == Some(Duration::ZERO) {
                    thread::sleep(Duration::from_millis(1));
                    continue;
                }
            }
            Err(error) => return (sent, refused, error.raw_os_error()),
        }
        index += 1;
    }
    (sent, refused, None)
}

/// Receives until the peer closes (0), an error (its number), or this endpoint is to close (`None`).
fn receive(mut socket: &Socket, echo: bool, echoed: &AtomicU32, stop: &AtomicBool) -> (Tally, Option<i32>) {
    let (mut tally, mut buffer) = (Tally::default(), vec![0; 65_536]);
    loop {
        match socket.read(&mut buffer) {
            // After a Reset, Linux ends the socket and keeps the error.
            Ok(0) => {
                let error = socket.take_error().ok().flatten();
                return (tally, Some(error.and_then(|error| error.raw_os_error()).unwrap_or(0)));
            }
            Ok(len) => {
                tally.count(&buffer[..len]);
                if echo {
                    // A full queue refuses the datagram.
                    echoed.fetch_add(socket.write(&buffer[..len]).is_ok().into(), Ordering::Relaxed);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if stop.load(Ordering::Relaxed) {
                    return (tally, None);
                }
            }
            Err(error) => return (tally, error.raw_os_error()),
        }
    }
}

//! Functions of connections.

use super::pointer::{buffer, bytes, write_sized};
use super::{duration, required};
use crate::connection::HeadwayConnection;
use crate::event::{HeadwayEvent, HeadwayReason};
use crate::failure::{Failure, HeadwayCode, guard};
use crate::kind::media_kind;
use crate::statistics::HeadwayStatistics;
use headway_net::Media;
use std::mem::{MaybeUninit, offset_of};

/// Waits until the connection is established (at a client: until the server has answered) or has failed. If the server
/// does not answer, it fails after about ten seconds.
#[unsafe(no_mangle)]
pub extern "C" fn headway_connected(connection: Option<&HeadwayConnection>) -> HeadwayCode {
    guard(|| required(connection, "connection")?.connected())
}

/// Queues a datagram and returns without waiting. The library copies the `length` bytes at `payload`. `kind` is a
/// `HeadwayKind`. Priority 0 is sent before 1, and 1 before 2. The default send queue drops a datagram that would
/// arrive more than `lifetime_us` us after this call; if all queued datagrams would be late, it sends the one that
/// expires last. With `HEADWAY_UNLIMITED` a datagram does not expire.
///
/// Writes the number by which events refer to the datagram, counted from 0, unless `number` is null. A full send queue
/// is not an error: an event reports which datagram it discarded. `payload` is the address of `length` bytes, or null
/// if `length` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_send(
    connection: Option<&HeadwayConnection>,
    payload: *const u8,
    length: usize,
    kind: i32,
    priority: u8,
    lifetime_us: u64,
    number: Option<&mut MaybeUninit<u64>>,
) -> HeadwayCode {
    guard(|| {
        let connection = required(connection, "connection")?;
        // SAFETY: the caller passes this many bytes.
        let payload = unsafe { bytes(payload, length, "payload") }?;
        let kind = media_kind(kind)?;
        let sent = connection.send(Media { kind, priority, expires: duration(lifetime_us), ..Media::new(payload) })?;
        if let Some(number) = number {
            number.write(sent);
        }
        Ok(())
    })
}

/// Waits for a datagram, for at most `timeout_us` us or `HEADWAY_UNLIMITED`, and writes it into the caller's buffer of
/// `size` bytes and its length to `length`. A buffer of 65535 bytes has room for every datagram.
///
/// If the buffer is too small, returns `HEADWAY_CODE_BUFFER_TOO_SMALL` and writes the length; the next call receives
/// the datagram again. Once the connection is closed and all datagrams are received, returns `HEADWAY_CODE_CLOSED`.
/// `buffer` is the address of `size` bytes, or null if `size` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_receive(
    connection: Option<&HeadwayConnection>,
    timeout_us: u64,
    buffer: *mut u8,
    size: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> HeadwayCode {
    guard(|| {
        let (connection, length) = (required(connection, "connection")?, required(length, "length")?);
        // SAFETY: the caller passes a buffer of this size.
        let buffer = unsafe { self::buffer(buffer, size, "buffer") }?;
        connection.receive(duration(timeout_us), |datagram| {
            let needed = datagram.len();
            length.write(needed);
            let room = buffer.get_mut(..needed).ok_or(Failure::Buffer { name: "buffer", size, needed })?;
            room.write_copy_of_slice(datagram);
            Ok(())
        })
    })
}

/// Waits for an event, for at most `timeout_us` us or `HEADWAY_UNLIMITED`, and writes it. The caller sets `event->size`
/// before. At most 1024 unread events are kept: the newest. After the last event, returns `HEADWAY_CODE_CLOSED`. If
/// there is no event, all fields of `event` except `size` are set to 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_next_event(
    connection: Option<&HeadwayConnection>,
    timeout_us: u64,
    event: *mut HeadwayEvent,
) -> HeadwayCode {
    const LEAST: usize = offset_of!(HeadwayEvent, largest) + size_of::<u64>();
    guard(|| {
        let connection = required(connection, "connection")?;
        // The event would be lost if it could not be written.
        // SAFETY: the caller passes a structure with its size, or null.
        unsafe { write_sized(event, HeadwayEvent::default(), LEAST, "event") }?;
        let next = connection.next_event(duration(timeout_us))?;
        // SAFETY: the caller passes a structure with its size.
        unsafe { write_sized(event, next, LEAST, "event") }
    })
}

/// Writes the rate that an encoder should produce now, in bit/s; 0 before the connection is established.
#[unsafe(no_mangle)]
pub extern "C" fn headway_encoder_rate(
    connection: Option<&HeadwayConnection>,
    rate: Option<&mut MaybeUninit<u64>>,
) -> HeadwayCode {
    guard(|| {
        required(rate, "rate")?.write(required(connection, "connection")?.encoder_rate());
        Ok(())
    })
}

/// Writes the size of the largest datagram that fits into one packet, in bytes; 0 before the connection is
/// established. It may grow in the first round trips.
#[unsafe(no_mangle)]
pub extern "C" fn headway_largest(
    connection: Option<&HeadwayConnection>,
    largest: Option<&mut MaybeUninit<usize>>,
) -> HeadwayCode {
    guard(|| {
        required(largest, "largest")?.write(required(connection, "connection")?.largest());
        Ok(())
    })
}

/// Writes the statistics of the connection. The caller sets `statistics->size` before. A closed connection, and one
/// whose DTLS session is not established yet, has none: returns `HEADWAY_CODE_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_statistics(
    connection: Option<&HeadwayConnection>,
    statistics: *mut HeadwayStatistics,
) -> HeadwayCode {
    const LEAST: usize = offset_of!(HeadwayStatistics, unread_datagrams) + size_of::<u64>();
    guard(|| {
        let current = required(connection, "connection")?.statistics()?;
        // SAFETY: the caller passes a structure with its size, or null.
        unsafe { write_sized(statistics, current, LEAST, "statistics") }
    })
}

/// Starts to close the connection and returns without waiting, for a program whose other threads still use it: their
/// calls return `HEADWAY_CODE_CLOSED`. Queued datagrams are sent for up to one second. Call `headway_close` as well.
#[unsafe(no_mangle)]
pub extern "C" fn headway_start_close(connection: Option<&HeadwayConnection>) -> HeadwayCode {
    guard(|| {
        required(connection, "connection")?.start_close();
        Ok(())
    })
}

/// Closes the connection and frees it. Queued datagrams are sent for up to one second; the call waits at most two
/// seconds until the connection is closed. Writes the reason why it is closed unless `reason` is null. A null
/// connection is ignored. No other thread may use the connection.
#[unsafe(no_mangle)]
pub extern "C" fn headway_close(
    connection: Option<Box<HeadwayConnection>>,
    reason: Option<&mut MaybeUninit<HeadwayReason>>,
) {
    guard(|| {
        let end = connection.map_or(HeadwayReason::None, |connection| HeadwayReason::from(&connection.close()));
        if let Some(reason) = reason {
            reason.write(end);
        }
        Ok(())
    });
}

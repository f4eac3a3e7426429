//! Functions of options.

use super::pointer::{buffer, text};
use super::{HEADWAY_FINGERPRINT_SIZE, required};
use crate::failure::{Failure, HeadwayCode, guard};
use crate::options::HeadwayOptions;
use std::ffi::c_char;
use std::mem::MaybeUninit;

/// Creates the options of a server with DTLS, a new identity, and trust in clients with any identity. The caller owns
/// the options and frees them with `headway_options_free`.
#[unsafe(no_mangle)]
pub extern "C" fn headway_options_server(options: Option<&mut MaybeUninit<Box<HeadwayOptions>>>) -> HeadwayCode {
    guard(|| {
        let options = required(options, "options")?;
        options.write(Box::new(HeadwayOptions::server()?));
        Ok(())
    })
}

/// Creates the options of a client with DTLS and a new identity. It trusts no server before `headway_options_trust` or
/// `headway_options_trust_any`. The caller owns the options and frees them with `headway_options_free`.
#[unsafe(no_mangle)]
pub extern "C" fn headway_options_client(options: Option<&mut MaybeUninit<Box<HeadwayOptions>>>) -> HeadwayCode {
    guard(|| {
        let options = required(options, "options")?;
        options.write(Box::new(HeadwayOptions::client()?));
        Ok(())
    })
}

/// Creates options without security, for a server or a client: plain DCCP in UDP (RFC 6773). An attacker on the path
/// can read all packets and forge others. The caller owns the options and frees them with `headway_options_free`.
#[unsafe(no_mangle)]
pub extern "C" fn headway_options_insecure(options: Option<&mut MaybeUninit<Box<HeadwayOptions>>>) -> HeadwayCode {
    guard(|| {
        required(options, "options")?.write(Box::new(HeadwayOptions::insecure()));
        Ok(())
    })
}

/// Frees options. Endpoints that were opened with them keep a copy. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn headway_options_free(options: Option<Box<HeadwayOptions>>) {
    guard(|| {
        drop(options);
        Ok(())
    });
}

/// Selects the rate controller of both directions by its name in scenarios. The default is "tfrc-filtered" or, if the
/// peer does not accept it, "tfrc", "tcp-like" or "tfrc-sp". All others are experimental, and both ends must select the
/// same. Controllers that need options beyond their name are refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_options_set_controller(
    options: Option<&mut HeadwayOptions>,
    name: *const c_char,
) -> HeadwayCode {
    // SAFETY: the caller passes a text.
    guard(|| required(options, "options")?.set_controller(unsafe { text(name, "name") }?))
}

/// Selects the send queue by its name in scenarios, such as "sfdps2". The default is "sure-first".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_options_set_send_queue(
    options: Option<&mut HeadwayOptions>,
    name: *const c_char,
) -> HeadwayCode {
    // SAFETY: the caller passes a text.
    guard(|| required(options, "options")?.set_send_queue(unsafe { text(name, "name") }?))
}

/// Sets the identity to the first certificate and the first private key (P-256 or P-384) of a text in PEM, such as the
/// file of `headway recv --identity`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_options_set_identity(
    options: Option<&mut HeadwayOptions>,
    pem: *const c_char,
) -> HeadwayCode {
    // SAFETY: the caller passes a text.
    guard(|| required(options, "options")?.set_identity(unsafe { text(pem, "pem") }?))
}

/// Sets the DCCP port of the server, 5004 by default, which both ends must set to the same value. It is independent of
/// the UDP port, which `headway_listen` sets.
#[unsafe(no_mangle)]
pub extern "C" fn headway_options_set_port(options: Option<&mut HeadwayOptions>, port: u16) -> HeadwayCode {
    guard(|| {
        required(options, "options")?.options.port = port;
        Ok(())
    })
}

/// Trusts the peer with this fingerprint, such as "sha-256 AB:CD:..". Several calls add several fingerprints. From the
/// first call on, only peers with one of them are accepted. A server then requests certificates from its clients.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_options_trust(
    options: Option<&mut HeadwayOptions>,
    fingerprint: *const c_char,
) -> HeadwayCode {
    // SAFETY: the caller passes a text.
    guard(|| required(options, "options")?.trust(unsafe { text(fingerprint, "fingerprint") }?))
}

/// Accepts any peer. This protects against eavesdropping but not against a man in the middle.
#[unsafe(no_mangle)]
pub extern "C" fn headway_options_trust_any(options: Option<&mut HeadwayOptions>) -> HeadwayCode {
    guard(|| required(options, "options")?.trust_any())
}

/// Writes the fingerprint by which peers authenticate this endpoint, with a zero byte at its end, into the caller's
/// buffer `fingerprint` of `size` bytes: at least `HEADWAY_FINGERPRINT_SIZE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_options_fingerprint(
    options: Option<&HeadwayOptions>,
    fingerprint: *mut c_char,
    size: usize,
) -> HeadwayCode {
    guard(|| {
        let own = required(options, "options")?.fingerprint()?;
        // SAFETY: the caller passes a buffer.
        let buffer = unsafe { buffer(fingerprint.cast(), size, "fingerprint") }?;
        let text = [own.as_bytes(), &[0]].concat();
        debug_assert_eq!(text.len(), HEADWAY_FINGERPRINT_SIZE);
        let needed = text.len();
        let room = buffer.get_mut(..needed).ok_or(Failure::Buffer { name: "fingerprint", size, needed })?;
        room.write_copy_of_slice(&text);
        Ok(())
    })
}

//! Functions of endpoints.

use super::pointer::text;
use super::{duration, required};
use crate::connection::HeadwayConnection;
use crate::endpoint::HeadwayEndpoint;
use crate::failure::{HeadwayCode, guard};
use crate::options::HeadwayOptions;
use std::ffi::c_char;
use std::mem::MaybeUninit;

/// Opens an endpoint for clients on an unused port, with a copy of the options. The caller owns the endpoint and frees
/// it with `headway_endpoint_free`.
#[unsafe(no_mangle)]
pub extern "C" fn headway_open(
    options: Option<&HeadwayOptions>,
    endpoint: Option<&mut MaybeUninit<Box<HeadwayEndpoint>>>,
) -> HeadwayCode {
    guard(|| {
        let (options, endpoint) = (required(options, "options")?, required(endpoint, "endpoint")?);
        endpoint.write(Box::new(HeadwayEndpoint::open(options)?));
        Ok(())
    })
}

/// Opens an endpoint for a server, with a copy of the options. `address` is HOST:PORT, such as "0.0.0.0:5004" or
/// "[::]:5004"; port 0 is an unused port. The caller owns the endpoint and frees it with `headway_endpoint_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_listen(
    options: Option<&HeadwayOptions>,
    address: *const c_char,
    endpoint: Option<&mut MaybeUninit<Box<HeadwayEndpoint>>>,
) -> HeadwayCode {
    guard(|| {
        let (options, endpoint) = (required(options, "options")?, required(endpoint, "endpoint")?);
        // SAFETY: the caller passes a text.
        let address = unsafe { text(address, "address") }?;
        endpoint.write(Box::new(HeadwayEndpoint::listen(options, address)?));
        Ok(())
    })
}

/// Frees an endpoint and closes connections of clients that the program has not accepted. Connections that the program
/// has opened or accepted continue. Null is ignored. No other thread may use the endpoint.
#[unsafe(no_mangle)]
pub extern "C" fn headway_endpoint_free(endpoint: Option<Box<HeadwayEndpoint>>) {
    guard(|| {
        drop(endpoint);
        Ok(())
    });
}

/// Writes the local UDP port of the endpoint.
#[unsafe(no_mangle)]
pub extern "C" fn headway_endpoint_port(
    endpoint: Option<&HeadwayEndpoint>,
    port: Option<&mut MaybeUninit<u16>>,
) -> HeadwayCode {
    guard(|| {
        required(port, "port")?.write(required(endpoint, "endpoint")?.port());
        Ok(())
    })
}

/// Connects to a server at `address`, HOST:PORT, and returns without waiting for it. Datagrams sent on the connection
/// wait until it is established. The name of a host is first looked up, which may take seconds. The caller owns the
/// connection and frees it with `headway_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_connect(
    endpoint: Option<&HeadwayEndpoint>,
    address: *const c_char,
    connection: Option<&mut MaybeUninit<Box<HeadwayConnection>>>,
) -> HeadwayCode {
    guard(|| {
        let (endpoint, connection) = (required(endpoint, "endpoint")?, required(connection, "connection")?);
        // SAFETY: the caller passes a text.
        let address = unsafe { text(address, "address") }?;
        connection.write(Box::new(endpoint.connect(address)?));
        Ok(())
    })
}

/// Waits until a client has connected, for at most `timeout_us` us or `HEADWAY_UNLIMITED`. If there is none, returns
/// `HEADWAY_CODE_TIMEOUT` and writes no connection. The caller owns the connection and frees it with `headway_close`.
#[unsafe(no_mangle)]
pub extern "C" fn headway_accept(
    endpoint: Option<&HeadwayEndpoint>,
    timeout_us: u64,
    connection: Option<&mut MaybeUninit<Box<HeadwayConnection>>>,
) -> HeadwayCode {
    guard(|| {
        let (endpoint, connection) = (required(endpoint, "endpoint")?, required(connection, "connection")?);
        connection.write(Box::new(endpoint.accept(duration(timeout_us))?));
        Ok(())
    })
}

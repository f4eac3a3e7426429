//! State of the first packets of a connection (RFC 4340 section 8.1).

use crate::DccpOption;
use crate::OptionWriter;
use headway_units::Seq48;
use std::sync::Arc;

/// Maximum part of a cookie in one Init Cookie option, in bytes.
const MAX_OPTION: usize = 253;

/// State of Request and Response, kept until the handshake ends.
#[derive(Debug)]
pub(super) struct Opening {
    /// Sequence number of the last Response sent by a server.
    response: Seq48,
    /// Data on the Request or Response, kept for retransmissions.
    data: Vec<u8>,
    /// The data of a Request or Response has been delivered or refused.
    data_seen: bool,
    /// Init Cookies: those of our Response, or those of a received Response to be echoed.
    cookies: Vec<Vec<u8>>,
    /// Maximum size of a Response with cookies, in bytes.
    response_limit: Option<usize>,
    /// A Sync of the server has arrived in PARTOPEN: the server is in OPEN.
    server_is_open: bool,
    /// Share in the listener's count of connections in RESPOND.
    backlog_entry: Option<Arc<()>>,
}

impl Opening {
    pub(super) const fn new(iss: Seq48) -> Self {
        Self {
            response: iss,
            data: Vec::new(),
            data_seen: false,
            cookies: Vec::new(),
            response_limit: None,
            server_is_open: false,
            backlog_entry: None,
        }
    }

    pub(super) const fn set_response(&mut self, seq: Seq48) {
        self.response = seq;
    }
    /// Records a Sync of the server.
    pub(super) const fn sync_seen(&mut self) {
        self.server_is_open = true;
    }
    pub(super) const fn server_is_open(&self) -> bool {
        self.server_is_open
    }
    pub(super) fn is_response(&self, ack: Option<Seq48>) -> bool {
        ack == Some(self.response)
    }

    /// Stores the data: "Each new DCCP-Request ... MUST contain the same ... application data"
    /// (section 8.1.1). This also applies to the Response.
    pub(super) fn keep_data(&mut self, data: &[u8]) {
        self.data = data.to_vec();
    }
    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }
    /// Refuses data, because a stateless server cannot keep it.
    pub(super) const fn refuse_data(&mut self) {
        self.data_seen = true;
    }
    /// Returns whether the data is the first to arrive.
    pub(super) const fn accept_data(&mut self) -> bool {
        !std::mem::replace(&mut self.data_seen, true)
    }

    /// Sets the cookie of a Response. Returns the size of its options, in bytes.
    pub(super) fn set_cookie(&mut self, cookie: &[u8]) -> usize {
        self.cookies = cookie.chunks(MAX_OPTION).map(<[u8]>::to_vec).collect();
        self.cookies_len()
    }
    /// Stores an Init Cookie option of a Response, which is echoed until the handshake has ended
    /// (section 8.1.4), unless all together exceed `room` bytes.
    pub(super) fn echo(&mut self, cookie: &[u8], room: usize) {
        if self.cookies_len() + cookie.len() + 2 <= room {
            self.cookies.push(cookie.to_vec());
        }
    }
    pub(super) fn forget_cookies(&mut self) {
        self.cookies.clear();
    }
    pub(super) fn cookies_len(&self) -> usize {
        self.cookies.iter().map(|cookie| cookie.len() + 2).sum()
    }
    pub(super) fn write_cookies(&self, writer: &mut OptionWriter<'_>) {
        for cookie in &self.cookies {
            let _ = writer.push(DccpOption::InitCookie(cookie));
        }
    }

    pub(super) const fn limit_response(&mut self, bytes: usize) {
        self.response_limit = Some(bytes);
    }
    pub(super) const fn response_limit(&self) -> Option<usize> {
        self.response_limit
    }

    pub(super) fn join_backlog(&mut self, place: &Arc<()>) {
        self.backlog_entry = Some(Arc::clone(place));
    }
    pub(super) fn leave_backlog(&mut self) {
        self.backlog_entry = None;
    }

    pub(super) fn finish(&mut self) {
        self.forget_cookies();
        self.leave_backlog();
    }
}

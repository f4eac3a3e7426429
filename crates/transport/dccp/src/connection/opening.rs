//! What the first packets of a connection need, and nobody after them (RFC 4340 section 8.1).

use crate::DccpOption;
use crate::OptionWriter;
use headway_units::Seq48;
use std::sync::Arc;

/// An Init Cookie option carries so much of a cookie.
const LONGEST_OPTION: usize = 253;

/// What is kept of Request and Response until the handshake is over.
#[derive(Debug)]
pub(super) struct Opening {
    /// The last Response, of a server.
    response: Seq48,
    /// Data on the Request or Response, kept for its repetition.
    data: Vec<u8>,
    /// A Request's or Response's data has been delivered or refused.
    data_seen: bool,
    /// Init Cookies: those of a Response to make, or those of a Response received to echo.
    cookies: Vec<Vec<u8>>,
    /// A Response with cookies must not be longer.
    response_limit: Option<usize>,
    /// The listener's place for connections in RESPOND.
    place_in_backlog: Option<Arc<()>>,
}

impl Opening {
    pub(super) const fn new(iss: Seq48) -> Self {
        Self {
            response: iss,
            data: Vec::new(),
            data_seen: false,
            cookies: Vec::new(),
            response_limit: None,
            place_in_backlog: None,
        }
    }

    /// A Response goes, or has gone, under this number.
    pub(super) const fn response_goes(&mut self, seq: Seq48) {
        self.response = seq;
    }
    /// Whether this acknowledges no more than the Response.
    pub(super) fn is_response(&self, ack: Option<Seq48>) -> bool {
        ack == Some(self.response)
    }

    /// "Each new DCCP-Request ... MUST contain the same ... application data" (section 8.1.1), and so the Response.
    pub(super) fn keep_data(&mut self, data: &[u8]) {
        self.data = data.to_vec();
    }
    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }
    /// Where nothing is kept, data cannot be kept either.
    pub(super) const fn refuse_data(&mut self) {
        self.data_seen = true;
    }
    /// Data has come: whether it is the first.
    pub(super) const fn takes_data(&mut self) -> bool {
        !std::mem::replace(&mut self.data_seen, true)
    }

    /// A cookie for a Response, and the bytes of its options.
    pub(super) fn bake(&mut self, cookie: &[u8]) -> usize {
        self.cookies = cookie.chunks(LONGEST_OPTION).map(<[u8]>::to_vec).collect();
        self.cookies_len()
    }
    /// An Init Cookie option of a Response is to be echoed until the handshake has ended (section 8.1.4), as far as there is `room` for all.
    pub(super) fn echo(&mut self, cookie: &[u8], room: usize) {
        if self.cookies_len() + cookie.len() + 2 <= room {
            self.cookies.push(cookie.to_vec());
        }
    }
    /// A Response's cookies take the place of those of the Responses before.
    pub(super) fn forget_cookies(&mut self) {
        self.cookies.clear();
    }
    /// Bytes of their options.
    pub(super) fn cookies_len(&self) -> usize {
        self.cookies.iter().map(|cookie| cookie.len() + 2).sum()
    }
    pub(super) fn write_cookies(&self, writer: &mut OptionWriter<'_>) {
        for cookie in &self.cookies {
            let _ = writer.push(DccpOption::InitCookie(cookie));
        }
    }

    /// No packet may be longer.
    pub(super) const fn limit_response(&mut self, bytes: usize) {
        self.response_limit = Some(bytes);
    }
    pub(super) const fn response_limit(&self) -> Option<usize> {
        self.response_limit
    }

    /// Takes a place in a listener's backlog.
    pub(super) fn take_place(&mut self, place: &Arc<()>) {
        self.place_in_backlog = Some(Arc::clone(place));
    }
    /// Others may have it.
    pub(super) fn leave_place(&mut self) {
        self.place_in_backlog = None;
    }

    /// The handshake is over.
    pub(super) fn is_over(&mut self) {
        self.forget_cookies();
        self.leave_place();
    }
}

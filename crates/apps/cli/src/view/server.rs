//! HTTP site of `headway view`: the page and the files of records.
//!
//! The server listens on the loopback address. Every local user can connect to it, and so can web pages in a browser,
//! by a name that resolves to this address (DNS rebinding). Each request must therefore have the address as its host,
//! and the token of the printed URL.

use super::page;
use super::records::Records;
use crate::error::Failure;
use crate::http::{self, Answer, Head, Hosts, Method, Reply, StatusCode, header};
use crate::papers::of_all_papers;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};

/// Maximum length of a request's path and query, in bytes.
const MAX_URL_LENGTH: usize = 2048;

pub(super) struct Server {
    server: http::Server,
    site: Site,
    address: String,
}

/// The page, the records and the access token.
struct Site {
    records: Records,
    papers: Papers,
    page: String,
    hosts: Hosts,
    token: String,
}

/// Page of the paper results, created at the first request. `None` if results are missing.
#[derive(Default)]
struct Papers(OnceLock<Option<String>>);

impl Papers {
    fn get(&self) -> Option<&String> {
        self.0.get_or_init(of_all_papers).as_ref()
    }
}

impl Server {
    /// Binds the server. Port 0 selects a free port.
    pub(super) fn new(records: Records, port: u16) -> Result<Self, Failure> {
        let page = match page::VIEWER {
            Some(viewer) => viewer.to_owned(),
            None => page::plain(&records)?,
        };
        let server = http::Server::bind((Ipv4Addr::LOCALHOST, port).into())?;
        let hosts = Hosts::of(server.address());
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| Failure::Sockets(format!("cannot create a token: {error}")))?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let address = format!("http://{}/?token={token}", server.address());
        Ok(Self { server, site: Site { records, papers: Papers::default(), page, hosts, token }, address })
    }

    /// Returns the URL of the page with the token.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Serves requests until `stopped` returns true.
    pub(super) fn serve(self, stopped: impl Fn() -> bool) {
        let site = Arc::new(self.site);
        self.server.serve(move |head| site.reply(head), stopped);
    }
}

impl Site {
    /// Requests without the host or the token get the same answer for existing and missing paths.
    fn reply(self: &Arc<Self>, head: Head) -> Reply {
        if !self.hosts.match_request(&head) {
            return Reply::Last(Answer::foreign_host());
        }
        let token = value(head.uri.query().unwrap_or_default(), "token");
        if !token.is_some_and(|token| is_same(token, &self.token)) {
            let why = "invalid token; open the address that headway view printed";
            return Reply::Last(Answer::message(StatusCode::FORBIDDEN, why));
        }
        let site = Arc::clone(self);
        Reply::Authorized(Box::new(move || site.answer(&head)))
    }

    fn answer(&self, head: &Head) -> Answer {
        if !matches!(head.method, Method::GET | Method::HEAD) {
            return Answer::message(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed");
        }
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
        if path.len() + query.len() > MAX_URL_LENGTH {
            return Answer::message(StatusCode::URI_TOO_LONG, "the URL is too long");
        }
        let missing = |what: &str| Answer::message(StatusCode::NOT_FOUND, what);
        match path.strip_prefix("/api/") {
            None if path == "/papers" => self.papers.get().map_or_else(
                || missing("results of some papers are missing; run headway papers run"),
                |page| Answer::text("text/html; charset=utf-8", page.clone()),
            ),
            None if path == "/" => Answer::text("text/html; charset=utf-8", self.page.clone()),
            None => missing("page not found"),
            Some("papers") => Answer::json(&self.papers.get().is_some()),
            Some("records") => Answer::json(&self.records.list()),
            Some("findings") => {
                let ids = query.split('&').filter_map(|pair| pair.strip_prefix("record="));
                match ids.map(|id| self.records.get(id)).collect::<Option<Vec<_>>>() {
                    Some(selected) => match self.records.findings(&selected) {
                        Ok(found) => Answer::json(&found),
                        Err(error) => Answer::message(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
                    },
                    None => missing("record not found"),
                }
            }
            Some(rest) => {
                let range = head.headers.get(header::RANGE).and_then(|range| range.to_str().ok());
                self.file(rest, range).unwrap_or_else(|| missing("file not found in the record"))
            }
        }
    }

    fn file(&self, path: &str, range: Option<&str>) -> Option<Answer> {
        let (id, name) = path.strip_prefix("records/")?.split_once('/')?;
        let unreadable = |error: std::io::Error| {
            Answer::message(StatusCode::INTERNAL_SERVER_ERROR, &format!("cannot read {name}: {error}"))
        };
        let content = match self.records.get(id)?.file(name) {
            Ok(content) => content?,
            Err(error) => return Some(unreadable(error)),
        };
        let kind = if name.ends_with(".json") { "application/json" } else { "application/octet-stream" };
        let length = content.len();
        let (status, from, until) = match range.map(|range| bytes_of(range, length)) {
            None | Some(ByteRange::All) => (StatusCode::OK, 0, length),
            Some(ByteRange::Part(from, until)) => (StatusCode::PARTIAL_CONTENT, from, until),
            Some(ByteRange::Beyond) => {
                let answer = Answer::message(StatusCode::RANGE_NOT_SATISFIABLE, "range not satisfiable");
                return Some(Answer { range: Some(format!("bytes */{length}")), ..answer });
            }
        };
        let range = (status == StatusCode::PARTIAL_CONTENT).then(|| format!("bytes {from}-{}/{length}", until - 1));
        match content.part(from, until - from) {
            Ok(body) => Some(Answer { status, kind, range, body: Box::new(body), length: until - from }),
            Err(error) => Some(unreadable(error)),
        }
    }
}

/// Requested byte range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteRange {
    /// Whole file. An invalid range is ignored (RFC 9110 section 14.2).
    All,
    /// Offset of the first byte, and of the byte after the last.
    Part(u64, u64),
    /// Range after the end of the file.
    Beyond,
}

/// Parses a single byte range (RFC 9110 section 14.1.2).
fn bytes_of(range: &str, length: u64) -> ByteRange {
    let ends = range.strip_prefix("bytes=").and_then(|range| range.split_once('-'));
    let number = |text: &str| text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    match ends {
        Some(("", last)) => match number(last) {
            Some(last) if last > 0 && length > 0 => ByteRange::Part(length.saturating_sub(last), length),
            Some(_) => ByteRange::Beyond,
            None => ByteRange::All,
        },
        Some((first, last)) => match (number(first), if last.is_empty() { Some(u64::MAX) } else { number(last) }) {
            (Some(first), Some(last)) if first > last => ByteRange::All,
            (Some(first), Some(_)) if first >= length => ByteRange::Beyond,
            (Some(first), Some(last)) => ByteRange::Part(first, last.saturating_add(1).min(length)),
            _ => ByteRange::All,
        },
        None => ByteRange::All,
    }
}

/// Returns the value of a key in a query, without decoding it.
fn value<'a>(query: &'a str, key: &str) -> Option<&'a str> {
    query.split('&').filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Compares in a time that depends only on the lengths.
fn is_same(value: &str, token: &str) -> bool {
    value.len() == token.len() && value.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9110 sections 14.1.2 and 14.2.
    #[test]
    fn byte_ranges_are_parsed() {
        for (range, expected) in [
            ("bytes=0-499", ByteRange::Part(0, 500)),
            ("bytes=500-999", ByteRange::Part(500, 1000)),
            ("bytes=9500-", ByteRange::Part(9500, 10_000)),
            ("bytes=-500", ByteRange::Part(9500, 10_000)),
            ("bytes=-20000", ByteRange::Part(0, 10_000)),
            ("bytes=9000-99999999999999999999", ByteRange::All),
            ("bytes=9000-18446744073709551615", ByteRange::Part(9000, 10_000)),
            ("bytes=10000-", ByteRange::Beyond),
            ("bytes=-0", ByteRange::Beyond),
            ("bytes=5-4", ByteRange::All),
            ("bytes=0-1,5-6", ByteRange::All),
            ("bytes=+1-2", ByteRange::All),
            ("items=0-1", ByteRange::All),
            ("bytes=-", ByteRange::All),
        ] {
            assert_eq!(bytes_of(range, 10_000), expected, "{range}");
        }
        assert_eq!(bytes_of("bytes=-5", 0), ByteRange::Beyond);
    }

    #[test]
    fn only_the_exact_token_matches() {
        let matches = ["ab12", "ab1", "ab13", "", "ab123"].map(|value| is_same(value, "ab12"));
        assert_eq!(matches, [true, false, false, false, false]);
    }
}

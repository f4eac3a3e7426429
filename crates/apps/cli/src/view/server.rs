//! The site of `headway view`: a page and the files of records, for the user who started the command.
//!
//! It listens on the loopback address, where every local user and every page in a browser can connect, the latter by a name that leads to that
//! address (DNS rebinding). So each request must name the address itself as its host, and bring the token of the printed address.

use super::page;
use super::records::Records;
use crate::error::Failure;
use crate::http::{self, Answer, Head, Hosts, Method, Reply, StatusCode, header};
use crate::papers::of_all_papers;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};

/// Maximum length of a request's path and query, in bytes.
const LONGEST_URL: usize = 2048;

pub(super) struct Server {
    server: http::Server,
    site: Site,
    address: String,
}

/// The page, the records, and who may see them.
struct Site {
    records: Records,
    papers: Papers,
    page: String,
    hosts: Hosts,
    token: String,
}

/// The replication report, if this folder has the results for it: made when it is asked for, and once.
#[derive(Default)]
struct Papers(OnceLock<Option<String>>);

impl Papers {
    fn get(&self) -> Option<&String> {
        self.0.get_or_init(of_all_papers).as_ref()
    }
}

impl Server {
    /// `port`: 0 for any.
    pub(super) fn new(records: Records, port: u16) -> Result<Self, Failure> {
        let page = match page::VIEWER {
            Some(viewer) => viewer.to_owned(),
            None => page::plain(&records)?,
        };
        let server = http::Server::bind((Ipv4Addr::LOCALHOST, port).into())?;
        let hosts = Hosts::of(server.address());
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| Failure::Sockets(format!("cannot make a token: {error}")))?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let address = format!("http://{}/?token={token}", server.address());
        Ok(Self { server, site: Site { records, papers: Papers::default(), page, hosts, token }, address })
    }

    /// What to open.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Answers until it is to stop.
    pub(super) fn serve(self, stopped: impl Fn() -> bool) {
        let site = Arc::new(self.site);
        self.server.serve(move |head| site.reply(head), stopped);
    }
}

impl Site {
    /// Without the host and the token every request gets the same answer, whether its path exists or not.
    fn reply(self: &Arc<Self>, head: Head) -> Reply {
        if !self.hosts.are_named_by(&head) {
            return Reply::Last(Answer::foreign_host());
        }
        let token = value(head.uri.query().unwrap_or_default(), "token");
        if !token.is_some_and(|token| is_same(token, &self.token)) {
            let why = "open the address that headway view printed: it has the token";
            return Reply::Last(Answer::words(StatusCode::FORBIDDEN, why));
        }
        let site = Arc::clone(self);
        Reply::Authorized(Box::new(move || site.answer(&head)))
    }

    fn answer(&self, head: &Head) -> Answer {
        if !matches!(head.method, Method::GET | Method::HEAD) {
            return Answer::words(StatusCode::METHOD_NOT_ALLOWED, "this server only answers GET and HEAD");
        }
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
        if path.len() + query.len() > LONGEST_URL {
            return Answer::words(StatusCode::URI_TOO_LONG, "no page of this server has an address of this length");
        }
        let missing = |what: &str| Answer::words(StatusCode::NOT_FOUND, what);
        match path.strip_prefix("/api/") {
            None if path == "/papers" => self.papers.get().map_or_else(
                || missing("there are no results of all papers here: headway papers run"),
                |page| Answer::text("text/html; charset=utf-8", page.clone()),
            ),
            None if path == "/" => Answer::text("text/html; charset=utf-8", self.page.clone()),
            None => missing("there is no such page"),
            Some("papers") => Answer::json(&self.papers.get().is_some()),
            Some("records") => Answer::json(&self.records.list()),
            Some("findings") => {
                let asked = query.split('&').filter_map(|pair| pair.strip_prefix("record="));
                match asked.map(|id| self.records.get(id)).collect::<Option<Vec<_>>>() {
                    Some(asked) => match self.records.findings(&asked) {
                        Ok(found) => Answer::json(&found),
                        Err(error) => Answer::words(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
                    },
                    None => missing("there is no such record"),
                }
            }
            Some(rest) => {
                let range = head.headers.get(header::RANGE).and_then(|range| range.to_str().ok());
                self.file(rest, range).unwrap_or_else(|| missing("the record has no such file"))
            }
        }
    }

    fn file(&self, path: &str, range: Option<&str>) -> Option<Answer> {
        let (id, name) = path.strip_prefix("records/")?.split_once('/')?;
        let unreadable = |error: std::io::Error| {
            Answer::words(StatusCode::INTERNAL_SERVER_ERROR, &format!("cannot read {name}: {error}"))
        };
        let content = match self.records.get(id)?.file(name) {
            Ok(content) => content?,
            Err(error) => return Some(unreadable(error)),
        };
        let kind = if name.ends_with(".json") { "application/json" } else { "application/octet-stream" };
        let length = content.len();
        let (status, from, until) = match range.map(|range| bytes_of(range, length)) {
            None | Some(Asked::All) => (StatusCode::OK, 0, length),
            Some(Asked::Part(from, until)) => (StatusCode::PARTIAL_CONTENT, from, until),
            Some(Asked::Beyond) => {
                let answer = Answer::words(StatusCode::RANGE_NOT_SATISFIABLE, "there are no such bytes");
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

/// Which bytes are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// What is asked is not understood, and so may be taken for nothing (RFC 9110 section 14.2).
    All,
    /// From the first until before the second.
    Part(u64, u64),
    Beyond,
}

/// One range of bytes (RFC 9110 section 14.1.2).
fn bytes_of(range: &str, length: u64) -> Asked {
    let ends = range.strip_prefix("bytes=").and_then(|range| range.split_once('-'));
    let number = |text: &str| text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    match ends {
        Some(("", last)) => match number(last) {
            Some(last) if last > 0 && length > 0 => Asked::Part(length.saturating_sub(last), length),
            Some(_) => Asked::Beyond,
            None => Asked::All,
        },
        Some((first, last)) => match (number(first), if last.is_empty() { Some(u64::MAX) } else { number(last) }) {
            (Some(first), Some(last)) if first > last => Asked::All,
            (Some(first), Some(_)) if first >= length => Asked::Beyond,
            (Some(first), Some(last)) => Asked::Part(first, last.saturating_add(1).min(length)),
            _ => Asked::All,
        },
        None => Asked::All,
    }
}

/// Returns the value of a key in a query, as it is written there.
fn value<'a>(query: &'a str, key: &str) -> Option<&'a str> {
    query.split('&').filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Compares in a time that depends on the lengths only.
fn is_same(asked: &str, token: &str) -> bool {
    asked.len() == token.len() && asked.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9110 sections 14.1.2 and 14.2.
    #[test]
    fn ranges_of_bytes() {
        for (range, asked) in [
            ("bytes=0-499", Asked::Part(0, 500)),
            ("bytes=500-999", Asked::Part(500, 1000)),
            ("bytes=9500-", Asked::Part(9500, 10_000)),
            ("bytes=-500", Asked::Part(9500, 10_000)),
            ("bytes=-20000", Asked::Part(0, 10_000)),
            ("bytes=9000-99999999999999999999", Asked::All),
            ("bytes=9000-18446744073709551615", Asked::Part(9000, 10_000)),
            ("bytes=10000-", Asked::Beyond),
            ("bytes=-0", Asked::Beyond),
            ("bytes=5-4", Asked::All),
            ("bytes=0-1,5-6", Asked::All),
            ("bytes=+1-2", Asked::All),
            ("items=0-1", Asked::All),
            ("bytes=-", Asked::All),
        ] {
            assert_eq!(bytes_of(range, 10_000), asked, "{range}");
        }
        assert_eq!(bytes_of("bytes=-5", 0), Asked::Beyond);
    }

    #[test]
    fn tokens_are_all_or_nothing() {
        let matches = ["ab12", "ab1", "ab13", "", "ab123"].map(|asked| is_same(asked, "ab12"));
        assert_eq!(matches, [true, false, false, false, false]);
    }
}

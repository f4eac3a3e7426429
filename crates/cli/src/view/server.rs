//! The server of `headway view`: a page and the files of records, to this machine's browser and nobody else.
//!
//! It listens on the loopback address. Pages from elsewhere that a browser shows could ask it, too, by a name that leads to that address (DNS
//! rebinding): so requests must name the address itself as their host, and bring a token that only the printed address has.

use super::page;
use super::records::{Records, part};
use crate::error::Failure;
use crate::papers::of_all_papers;
use std::io::{Cursor, Read};
use std::sync::OnceLock;
use std::time::Duration;
use tiny_http::{Header, Method, Request, Response, StatusCode};

/// How often somebody is asked whether to go on.
const LOOK: Duration = Duration::from_millis(200);
/// Longer addresses are none of the page's.
const LONGEST_URL: usize = 2048;

pub(super) struct Server {
    server: tiny_http::Server,
    records: Records,
    papers: Papers,
    page: String,
    hosts: [String; 2],
    token: String,
    address: String,
}

/// The replication report, if this folder has the results for it: made when it is asked for, and once.
#[derive(Default)]
struct Papers(OnceLock<Option<String>>);

impl Papers {
    fn get(&self) -> Option<&String> {
        self.0.get_or_init(of_all_papers).as_ref()
    }
}

/// What is answered.
struct Answer {
    status: u16,
    kind: &'static str,
    /// Of which bytes of how many, where a part was asked for.
    range: Option<String>,
    body: Box<dyn Read + Send>,
    length: u64,
}

impl Server {
    /// `port`: 0 for any.
    pub(super) fn new(records: Records, port: u16) -> Result<Self, Failure> {
        let page = match page::VIEWER {
            Some(viewer) => viewer.to_owned(),
            None => page::plain(&records)?,
        };
        let failed =
            |why: &dyn std::fmt::Display| Failure::Sockets(format!("cannot listen at 127.0.0.1:{port}: {why}"));
        let server = tiny_http::Server::http(("127.0.0.1", port)).map_err(|error| failed(&error))?;
        let bound = server.server_addr().to_ip().ok_or_else(|| failed(&"it is no address of IP"))?;
        let hosts = [format!("127.0.0.1:{}", bound.port()), format!("localhost:{}", bound.port())];
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| failed(&error))?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let address = format!("http://{}/?token={token}", hosts[0]);
        Ok(Self { server, records, papers: Papers::default(), page, hosts, token, address })
    }

    /// What to open.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Answers until it is to stop.
    pub(super) fn serve(&self, stopped: impl Fn() -> bool) -> Result<(), Failure> {
        while !stopped() {
            let request = self.server.recv_timeout(LOOK);
            if let Some(request) = request.map_err(|error| Failure::Sockets(format!("cannot serve: {error}")))? {
                self.answer(request);
            }
        }
        Ok(())
    }

    fn answer(&self, request: Request) {
        let header = |name: &'static str| {
            let found = request.headers().iter().find(|header| header.field.equiv(name));
            found.map(|header| header.value.as_str().to_owned())
        };
        let (host, range) = (header("Host"), header("Range"));
        let answer = if host.is_none_or(|host| !self.hosts.contains(&host)) {
            Answer::words(403, "this server answers to its own address only")
        } else if !matches!(request.method(), Method::Get | Method::Head) {
            Answer::words(405, "this server is only asked")
        } else {
            self.find(request.url(), range.as_deref())
        };
        // Who does not wait for the answer does not want it.
        let _ = request.respond(answer.response());
    }

    fn find(&self, url: &str, range: Option<&str>) -> Answer {
        if url.len() > LONGEST_URL {
            return Answer::words(414, "no page of this server asks for so much");
        }
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let key = |name: &str| query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name);
        // The page alone tells nothing of the records.
        if page::VIEWER.is_some() && path == "/" {
            return Answer::whole("text/html; charset=utf-8", self.page.clone());
        }
        if key("token").is_none_or(|(_, token)| !same(token, &self.token)) {
            return Answer::words(403, "open the address that headway view has printed: it has the token");
        }
        match path.strip_prefix("/api/") {
            None if path == "/papers" => self.papers.get().map_or_else(
                || Answer::words(404, "there are no results of all papers here: headway papers run"),
                |page| Answer::whole("text/html; charset=utf-8", page.clone()),
            ),
            Some("papers") => Answer::json(&self.papers.get().is_some()),
            None if path == "/" => Answer::whole("text/html; charset=utf-8", self.page.clone()),
            Some("records") => Answer::json(&self.records.list()),
            Some("findings") => {
                let asked = query.split('&').filter_map(|pair| pair.strip_prefix("record="));
                match asked.map(|id| self.records.get(id)).collect::<Option<Vec<_>>>() {
                    Some(asked) => self
                        .records
                        .findings(&asked)
                        .map_or_else(|error| Answer::words(500, &error.to_string()), |found| Answer::json(&found)),
                    None => Answer::words(404, "there is no such record"),
                }
            }
            Some(rest) => self.file(rest, range),
            None => Answer::words(404, "there is no such page"),
        }
    }

    fn file(&self, path: &str, range: Option<&str>) -> Answer {
        let of = path.strip_prefix("records/").and_then(|path| path.split_once('/'));
        let found = of.and_then(|(id, name)| self.records.get(id)?.file(name).map(|found| (name, found)));
        let Some((name, (file, length))) = found else { return Answer::words(404, "the record has no such file") };
        let kind = if name.ends_with(".json") { "application/json" } else { "application/octet-stream" };
        let (status, from, until) = match range.map(|range| bytes_of(range, length)) {
            None | Some(Asked::All) => (200, 0, length),
            Some(Asked::Part(from, until)) => (206, from, until),
            Some(Asked::Beyond) => {
                return Answer {
                    range: Some(format!("bytes */{length}")),
                    ..Answer::words(416, "there are no such bytes")
                };
            }
        };
        let Ok(body) = part(file, from, until - from) else { return Answer::words(500, "the file cannot be read") };
        let range = (status == 206).then(|| format!("bytes {from}-{}/{length}", until - 1));
        Answer { status, kind, range, body: Box::new(body), length: until - from }
    }
}

impl Answer {
    fn whole(kind: &'static str, text: String) -> Self {
        let length = text.len() as u64;
        Self { status: 200, kind, range: None, body: Box::new(Cursor::new(text.into_bytes())), length }
    }

    fn words(status: u16, words: &str) -> Self {
        Self { status, ..Self::whole("text/plain; charset=utf-8", format!("{words}\n")) }
    }

    fn json<T: serde::Serialize + ?Sized>(value: &T) -> Self {
        serde_json::to_string(value)
            .map_or_else(|_| Self::words(500, "that cannot be told"), |text| Self::whole("application/json", text))
    }

    fn response(self) -> Response<Box<dyn Read + Send>> {
        let fixed = [
            ("Content-Type", self.kind),
            ("Accept-Ranges", "bytes"),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", "frame-ancestors 'none'"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
        ];
        let range = self.range.as_deref().map(|range| ("Content-Range", range));
        let headers = fixed.into_iter().chain(range);
        let headers = headers.filter_map(|(name, value)| Header::from_bytes(name, value).ok()).collect();
        Response::new(StatusCode(self.status), headers, self.body, usize::try_from(self.length).ok(), None)
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

/// Takes as long for any text of its length.
fn same(asked: &str, token: &str) -> bool {
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
        assert!(same("ab12", "ab12") && !same("ab1", "ab12") && !same("ab13", "ab12") && !same("", "ab12"));
    }
}

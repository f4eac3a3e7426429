//! A trace that Perfetto opens (ui.perfetto.dev), and Chrome's `about:tracing`: the JSON Array Format of Google's "Trace Event Format".
//!
//! A process is a heading with tracks below it: what lasts, what happened at an instant, counters. Times are in us, with three decimals.

use headway_units::Instant;
use serde_json::{Map, Value, json};

/// The track of a process that has what lasts.
const LASTING: u32 = 1;
/// The track that has instants.
const INSTANTS: u32 = 2;

/// Writes a trace. What is ready can be taken as often as one likes.
#[derive(Debug)]
pub struct PerfettoWriter {
    out: Vec<u8>,
    begun: bool,
}

impl Default for PerfettoWriter {
    fn default() -> Self {
        Self { out: b"[\n".to_vec(), begun: false }
    }
}

impl PerfettoWriter {
    /// The bytes since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// The process with this number is called so, and stands in the order of the numbers. Its tracks are called `lasting` and `instants`; one that is not used has no name.
    pub fn process(&mut self, number: u32, name: &str, [lasting, instants]: [&str; 2]) {
        let mut tell = |what: &str, track: u32, told: Value| {
            self.event(&json!({ "ph": "M", "pid": number, "tid": track, "name": what, "args": told }));
        };
        tell("process_name", 0, json!({ "name": name }));
        tell("process_sort_index", 0, json!({ "sort_index": number }));
        for (track, name) in [(LASTING, lasting), (INSTANTS, instants)].into_iter().filter(|(_, name)| !name.is_empty())
        {
            tell("thread_name", track, json!({ "name": name }));
        }
    }

    /// Something lasts from `start` to `end`.
    pub fn slice(&mut self, process: u32, name: &str, [start, end]: [Instant; 2], about: &Map<String, Value>) {
        let lasts = us(end.as_nanos().saturating_sub(start.as_nanos()));
        self.timed("X", process, LASTING, name, start, &format!(",\"dur\":{lasts}"), about);
    }

    /// Something happens.
    pub fn instant(&mut self, process: u32, name: &str, at: Instant, about: &Map<String, Value>) {
        self.timed("i", process, INSTANTS, name, at, ",\"s\":\"t\"", about);
    }

    /// A counter has this value from now on.
    pub fn counter(&mut self, process: u32, name: &str, at: Instant, value: f64) {
        let mut values = Map::new();
        values.insert("value".to_owned(), json!(value));
        self.timed("C", process, 0, name, at, "", &values);
    }

    /// The last event is written.
    pub fn finish(&mut self) {
        self.out.extend_from_slice(b"\n]\n");
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of an event")]
    fn timed(
        &mut self,
        phase: &str,
        process: u32,
        track: u32,
        name: &str,
        at: Instant,
        more: &str,
        about: &Map<String, Value>,
    ) {
        self.separate();
        let (name, at, about) = (json!(name), us(at.as_nanos()), serde_json::to_string(about).unwrap_or_default());
        let text = format!(
            "{{\"ph\":\"{phase}\",\"pid\":{process},\"tid\":{track},\"ts\":{at}{more},\"name\":{name},\"args\":{about}}}"
        );
        self.out.extend_from_slice(text.as_bytes());
    }

    fn event(&mut self, event: &Value) {
        self.separate();
        self.out.extend_from_slice(event.to_string().as_bytes());
    }

    fn separate(&mut self) {
        if std::mem::replace(&mut self.begun, true) {
            self.out.extend_from_slice(b",\n");
        }
    }
}

/// Nanoseconds as microseconds, exactly: a double would round them after some hours.
fn us(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}

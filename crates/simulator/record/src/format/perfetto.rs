//! Traces for Perfetto (ui.perfetto.dev) and Chrome's `about:tracing`: the JSON Array Format of Google's "Trace Event
//! Format".
//!
//! A process is a group of tracks: slices, instants and counters. Times are in us, with three decimals.

use headway_units::Instant;
use serde_json::{Map, Value, json};

/// Track number of a process's slices.
const SLICES: u32 = 1;
/// Track number of a process's instants.
const INSTANTS: u32 = 2;

/// Writer of a trace for Perfetto in JSON. [`take`](Self::take) may be called at any time.
#[derive(Debug)]
pub struct PerfettoWriter {
    out: Vec<u8>,
    has_events: bool,
}

impl Default for PerfettoWriter {
    fn default() -> Self {
        Self { out: b"[\n".to_vec(), has_events: false }
    }
}

impl PerfettoWriter {
    /// Returns the bytes of the trace written since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Writes the names of a process and of its two tracks, one for slices and one for instants. Processes are sorted
    /// by number. An unused track has an empty name.
    pub fn process(&mut self, number: u32, name: &str, [slices, instants]: [&str; 2]) {
        let mut metadata = |key: &str, track: u32, args: Value| {
            self.event(&json!({ "ph": "M", "pid": number, "tid": track, "name": key, "args": args }));
        };
        metadata("process_name", 0, json!({ "name": name }));
        metadata("process_sort_index", 0, json!({ "sort_index": number }));
        for (track, name) in [(SLICES, slices), (INSTANTS, instants)].into_iter().filter(|(_, name)| !name.is_empty()) {
            metadata("thread_name", track, json!({ "name": name }));
        }
    }

    /// Adds an event of a process that lasts from `start` to `end`.
    pub fn slice(&mut self, process: u32, name: &str, [start, end]: [Instant; 2], args: &Map<String, Value>) {
        let duration = us(end.as_nanos().saturating_sub(start.as_nanos()));
        self.timed("X", process, SLICES, name, start, &format!(",\"dur\":{duration}"), args);
    }

    /// Adds an event of a process without a duration.
    pub fn instant(&mut self, process: u32, name: &str, at: Instant, args: &Map<String, Value>) {
        self.timed("i", process, INSTANTS, name, at, ",\"s\":\"t\"", args);
    }

    /// Sets the value of a process's counter from `at` on.
    pub fn counter(&mut self, process: u32, name: &str, at: Instant, value: f64) {
        let mut values = Map::new();
        values.insert("value".to_owned(), json!(value));
        self.timed("C", process, 0, name, at, "", &values);
    }

    /// Ends the trace after its last event.
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
        fields: &str,
        args: &Map<String, Value>,
    ) {
        self.separate();
        let (name, at, args) = (json!(name), us(at.as_nanos()), serde_json::to_string(args).unwrap_or_default());
        let text = format!(
            "{{\"ph\":\"{phase}\",\"pid\":{process},\"tid\":{track},\"ts\":{at}{fields},\"name\":{name},\"args\":{args}}}"
        );
        self.out.extend_from_slice(text.as_bytes());
    }

    fn event(&mut self, event: &Value) {
        self.separate();
        self.out.extend_from_slice(event.to_string().as_bytes());
    }

    fn separate(&mut self) {
        if std::mem::replace(&mut self.has_events, true) {
            self.out.extend_from_slice(b",\n");
        }
    }
}

/// Formats nanoseconds as microseconds exactly; a double would round after some hours.
fn us(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}

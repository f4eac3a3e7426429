//! Packets over time: rows of boxes on a common scale, with lines between the same packet in successive rows.

use super::canvas::{Anchor, Canvas};

const WIDTH_PX: f64 = 720.0;
const LEFT_PX: f64 = 150.0;
const ROW_PX: f64 = 74.0;
const BOX_PX: f64 = 26.0;
const NAME_PX: f64 = 20.0;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Box {
    pub(super) name: String,
    /// Start and end, in ms.
    pub(super) from_ms: f64,
    pub(super) to_ms: f64,
    /// Whether the packet is lost in this row.
    pub(super) lost: bool,
}

pub(super) struct Row {
    pub(super) name: String,
    pub(super) boxes: Vec<Box>,
    /// Whether lines connect its packets to those of the next row.
    pub(super) continues: bool,
}

/// A time span below a row, with a text.
pub(super) struct Note {
    pub(super) from_ms: f64,
    pub(super) to_ms: f64,
    pub(super) row: usize,
    pub(super) text: String,
}

/// Returns the departure times from a FIFO transmitter, in ms.
pub(super) fn departures(arrivals_ms: &[f64], service_ms: f64) -> Vec<f64> {
    let mut free = 0.0;
    arrivals_ms
        .iter()
        .map(|arrival| {
            free = f64::max(free, *arrival) + service_ms;
            free
        })
        .collect()
}

pub(super) fn draw(rows: &[Row], notes: &[Note], title: &str) -> String {
    let latest = rows.iter().flat_map(|row| &row.boxes).map(|one| one.to_ms).fold(1e-9, f64::max);
    let x = |ms: f64| LEFT_PX + ms / latest * WIDTH_PX;
    let y = |row: usize| 30.0 + row as f64 * ROW_PX;
    let mut canvas = Canvas::new(LEFT_PX + WIDTH_PX + 30.0, y(rows.len()) + 20.0);
    for (number, row) in rows.iter().enumerate() {
        canvas.text((LEFT_PX - 12.0, y(number) + BOX_PX / 2.0 + 4.0), Anchor::End, &row.name);
        canvas.line((LEFT_PX, y(number) + BOX_PX), (LEFT_PX + WIDTH_PX, y(number) + BOX_PX), false);
        // Position of the last name above a narrow box.
        let mut named = f64::MIN;
        for one in &row.boxes {
            let fill = if one.lost {
                "#f9d9d6"
            } else if one.name.starts_with('P') {
                "#cfe0fb"
            } else {
                "#e6e6e6"
            };
            let width = (x(one.to_ms) - x(one.from_ms)).max(2.0);
            canvas.rectangle((x(one.from_ms), y(number)), (width, BOX_PX), 0.0, fill);
            let middle = x(one.from_ms) + width / 2.0;
            if width > NAME_PX {
                canvas.lines((middle, y(number) + BOX_PX / 2.0), &[&one.name]);
            } else if middle - named > NAME_PX {
                canvas.lines((middle, y(number) - 9.0), &[&one.name]);
                named = middle;
            }
            let next = rows
                .get(number + 1)
                .filter(|_| row.continues)
                .and_then(|next| next.boxes.iter().find(|other| other.name == one.name));
            if let Some(next) = next.filter(|_| !one.lost) {
                canvas.line((x(one.to_ms), y(number) + BOX_PX), (x(next.from_ms), y(number + 1)), true);
            }
        }
    }
    for note in notes {
        let below = y(note.row) + BOX_PX + 12.0;
        let (from, to) = (x(note.from_ms), x(note.to_ms));
        canvas.line((from, below), (to, below), false);
        for end in [from, to] {
            canvas.line((end, below - 5.0), (end, below + 5.0), false);
        }
        canvas.text(((from + to) / 2.0, below + 16.0), Anchor::Middle, &note.text);
    }
    canvas.finish(title)
}

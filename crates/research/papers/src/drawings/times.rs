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

#[cfg(test)]
mod tests {
    use super::super::canvas::numbers;
    use super::*;

    fn packet(name: &str, from_ms: f64, to_ms: f64, lost: bool) -> Box {
        Box { name: name.to_owned(), from_ms, to_ms, lost }
    }

    fn row(boxes: Vec<Box>, continues: bool) -> Row {
        Row { name: "row".to_owned(), boxes, continues }
    }

    /// A packet waits for the packets before it, but not for those that have left.
    #[test]
    fn a_fifo_serves_one_packet_at_a_time() {
        assert_eq!(departures(&[0.0, 1.0, 1.0, 10.0, 12.0], 2.0), [2.0, 4.0, 6.0, 12.0, 14.0]);
    }

    /// The latest end is at the right margin. Positions and widths are proportional to times; a box has a minimum
    /// width.
    #[test]
    fn boxes_have_a_common_scale() {
        let rows = [
            row(vec![packet("P1", 0.0, 50.0, false), packet("P2", 75.0, 75.0, false)], false),
            row(vec![packet("C1", 50.0, 100.0, true)], false),
        ];
        let svg = draw(&rows, &[], "title");
        let of = numbers(&svg, "rect", "rx");
        let spans: Vec<_> = of.iter().map(|of| (of[0], of[0] + of[2])).collect();
        let at = |part: f64| LEFT_PX + part * WIDTH_PX;
        assert_eq!(spans, [(at(0.0), at(0.5)), (at(0.75), at(0.75) + 2.0), (at(0.5), at(1.0))]);
        assert_eq!((of[0][1], of[2][1] - of[0][1]), (of[1][1], ROW_PX));
        // The line below the boxes of a row has their lower edge.
        let lines = numbers(&svg, "line", "/>");
        assert!(lines.iter().zip([&of[0], &of[2]]).all(|(line, of)| line[1] == of[1] + of[3] && line[1] == line[3]));
        for (fill, count) in [("#cfe0fb", 2), ("#f9d9d6", 1), ("#e6e6e6", 0)] {
            assert_eq!(svg.matches(fill).count(), count, "{fill}");
        }
        let height = svg.split_once(" height=\"").unwrap().1.split_once('"').unwrap().0.parse::<f64>().unwrap();
        assert!(height > of[2][1] + of[2][3] + super::super::canvas::TITLE_PX, "{svg}");
    }

    /// A name is in the middle of its box, or above it if the box is narrow. Above narrow boxes, names that would
    /// overlap the last one are left out.
    #[test]
    fn names_are_in_or_above_their_boxes() {
        let ms = |px: f64| px / WIDTH_PX * 100.0;
        let narrow = |name: &str, px: f64| packet(name, ms(px), ms(px + 10.0), false);
        let boxes = vec![
            packet("P1", ms(0.0), ms(60.0), false),
            narrow("P2", 100.0),
            narrow("P3", 120.0),
            narrow("P4", 141.0),
            packet("P5", 50.0, 100.0, false),
        ];
        let svg = draw(&[row(boxes, false)], &[], "title");
        let texts: Vec<(String, Vec<f64>)> = svg
            .lines()
            .filter(|line| line.contains(">P"))
            .map(|line| line.split_once('>').unwrap().1.trim_end_matches("</text>").to_owned())
            .zip(numbers(&svg, "text", "text-anchor").into_iter().skip(1))
            .collect();
        let of = numbers(&svg, "rect", "rx");
        assert_eq!(texts.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["P1", "P2", "P4", "P5"]);
        for ((name, at), (number, is_inside)) in texts.iter().zip([(0, true), (1, false), (3, false), (4, true)]) {
            let of = &of[number];
            assert!((at[0] - of[0] - of[2] / 2.0).abs() < 0.11, "{name}: {at:?} {of:?}");
            assert_eq!(of[1] < at[1] && at[1] < of[1] + of[3], is_inside, "{name}: {at:?} {of:?}");
            assert!(is_inside || of[1] - at[1] < ROW_PX - BOX_PX, "{name}");
        }
    }

    /// Dashed lines connect the end of a packet with its start in the next row, unless the packet is lost.
    #[test]
    fn lines_connect_the_packets_of_successive_rows() {
        let rows = |continues| {
            let boxes = |from: f64, lost| {
                vec![packet("P1", from, from + 10.0, false), packet("P2", from + 20.0, from + 30.0, lost)]
            };
            [row(boxes(0.0, true), continues), row(boxes(70.0, false), false)]
        };
        assert!(!draw(&rows(false), &[], "title").contains("stroke-dasharray"));
        let svg = draw(&rows(true), &[], "title");
        let dashed: Vec<_> = svg.lines().filter(|line| line.contains("stroke-dasharray")).collect();
        let of = numbers(&svg, "rect", "rx");
        let line = format!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"",
            of[0][0] + of[0][2],
            of[0][1] + of[0][3],
            of[2][0],
            of[2][1]
        );
        assert!(dashed.len() == 1 && dashed[0].starts_with(&line), "{line}: {dashed:?}");
    }

    /// A note has a line over its time below its row, with a mark at both ends, and its text in the middle.
    #[test]
    fn notes_are_below_their_row() {
        let note = Note { from_ms: 25.0, to_ms: 75.0, row: 1, text: "note".to_owned() };
        let rows = || [row(vec![packet("P1", 0.0, 100.0, false)], false), row(vec![], false)];
        let svg = draw(&rows(), &[note], "title");
        let lines = numbers(&svg, "line", "/>").split_off(2);
        let [span, marks @ ..] = &lines[..] else { panic!("{svg}") };
        let (from, to) = (LEFT_PX + 0.25 * WIDTH_PX, LEFT_PX + 0.75 * WIDTH_PX);
        assert_eq!((span[0], span[2], span[1]), (from, to, span[3]));
        assert_eq!(marks.iter().map(|mark| (mark[0], mark[2])).collect::<Vec<_>>(), [(from, from), (to, to)]);
        assert!(marks.iter().all(|mark| mark[1] < span[1] && span[1] < mark[3]), "{svg}");
        let text = numbers(&svg, "text", "text-anchor").pop().unwrap();
        assert_eq!(text[0], LEFT_PX + 0.5 * WIDTH_PX);
        let row = numbers(&svg, "rect", "rx")[0][1] + ROW_PX;
        assert!(row + BOX_PX < span[1] && span[1] < text[1], "{svg}");
    }
}

//! What colours, marks and dashes mean: in a column beside the plot, or in rows below it.

use super::frame::{Area, DrawError, Frame, MARGIN, shortened};

/// From one entry to the next, in px where words have 13.
const LINE: i32 = 22;
/// Of an entry that takes two lines, from one to the other.
const SECOND: i32 = LINE - 4;
/// Where words begin beside a swatch.
const INDENT: i32 = 32;
/// From one row to the next.
const ROW: i32 = 20;
/// Below a plot, rows that would take its place.
const MOST_ROWS: usize = 10;
/// In a row, longer words are cut.
const MOST_CHARACTERS: usize = 48;

/// Draws what stands for something, from 0 to 24 px across and around height 0, by a function from px to the area's units.
pub(super) type Swatch<'a> = Box<dyn Fn(&Area<'_>, &dyn Fn(i32, i32) -> (i32, i32)) -> Result<(), DrawError> + 'a>;

enum Item<'a> {
    Heading(String),
    Entry(Swatch<'a>, String),
    Gap,
    Note(String),
}

#[derive(Default)]
pub(super) struct Legend<'a> {
    items: Vec<Item<'a>>,
}

impl<'a> Legend<'a> {
    /// What the entries below it are; nothing if it has no words.
    pub(super) fn heading(&mut self, words: &str) {
        if !words.is_empty() {
            self.items.push(Item::Heading(words.to_owned()));
        }
    }

    pub(super) fn entry(&mut self, words: &str, swatch: Swatch<'a>) {
        self.items.push(Item::Entry(swatch, words.to_owned()));
    }

    pub(super) fn gap(&mut self) {
        self.items.push(Item::Gap);
    }

    /// Smaller words without a swatch.
    pub(super) fn note(&mut self, words: &str) {
        self.items.push(Item::Note(words.to_owned()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.iter().all(|item| matches!(item, Item::Gap))
    }

    /// In a column from the top of `area` on; what does not fit into `room` is counted.
    pub(super) fn draw_in_column(&self, frame: &Frame<'_>, area: &Area<'_>, room: i32) -> Result<(), DrawError> {
        let width = area.dim_in_pixel().0 as i32;
        let characters = frame.characters(width - frame.px(INDENT), 13);
        let mut y = 6 + LINE / 2;
        for (number, item) in self.items.iter().enumerate() {
            let left: usize = self.items[number..].iter().filter(|item| matches!(item, Item::Entry(..))).count();
            let lines = match item {
                Item::Entry(_, words) => wrapped(words, characters),
                Item::Heading(words) => vec![shortened(words, characters)],
                Item::Note(words) => wrapped(words, frame.characters(width, 12)),
                Item::Gap => {
                    y += LINE / 2;
                    continue;
                }
            };
            // The last line of all needs no room below it for those that are left out.
            let below = if left > 1 { LINE } else { 0 };
            if frame.px(y + SECOND * (lines.len() as i32 - 1) + LINE / 2 + below) > room {
                return if left > 0 {
                    frame.text(area, &format!("and {left} more"), frame.at((INDENT, y)), 13)
                } else {
                    Ok(())
                };
            }
            match item {
                Item::Heading(_) => {
                    frame.text(area, &lines[0], frame.at((0, y)), 14)?;
                    y += LINE;
                }
                Item::Entry(swatch, _) => {
                    swatch(area, &|x, dy| frame.at((x, y + dy)))?;
                    for words in lines {
                        frame.text(area, &words, frame.at((INDENT, y)), 13)?;
                        y += SECOND;
                    }
                    y += 4;
                }
                Item::Note(_) => {
                    for words in lines {
                        frame.text(area, &words, frame.at((0, y)), 12)?;
                        y += SECOND;
                    }
                }
                Item::Gap => {}
            }
        }
        Ok(())
    }

    pub(super) fn height_in_rows(&self, frame: &Frame<'_>) -> i32 {
        if self.is_empty() {
            0
        } else {
            frame.px(ROW) * self.rows(frame).1.len().min(MOST_ROWS) as i32 + frame.px(MARGIN)
        }
    }

    pub(super) fn draw_in_rows(&self, frame: &Frame<'_>, area: &Area<'_>) -> Result<(), DrawError> {
        let (cell, rows) = self.rows(frame);
        let left_out: usize = rows.iter().skip(MOST_ROWS - 1).map(Vec::len).sum();
        for (number, row) in rows.iter().take(MOST_ROWS).enumerate() {
            let y = frame.px(ROW) * number as i32 + frame.px(ROW / 2);
            if number + 1 == MOST_ROWS && rows.len() > MOST_ROWS {
                return frame.text(area, &format!("and {left_out} more"), (frame.px(MARGIN), y), 13);
            }
            for (column, item) in row.iter().enumerate() {
                let x = frame.px(MARGIN) + cell * column as i32;
                let fitting = |words: &str, indent: i32, pixels: i32| {
                    shortened(words, frame.characters(frame.width - x - frame.px(indent), pixels))
                };
                match item {
                    Item::Heading(words) => frame.text(area, &fitting(words, 0, 14), (x, y), 14)?,
                    Item::Note(words) => frame.text(area, &fitting(words, 0, 12), (x, y), 12)?,
                    Item::Entry(swatch, words) => {
                        swatch(area, &|right, down| (x + frame.px(right), y + frame.px(down)))?;
                        let words = shortened(words, MOST_CHARACTERS);
                        frame.text(area, &fitting(&words, INDENT, 13), (x + frame.px(INDENT), y), 13)?;
                    }
                    Item::Gap => {}
                }
            }
        }
        Ok(())
    }

    /// The width of a cell, and the rows: entries side by side, all else in rows of its own.
    fn rows(&self, frame: &Frame<'_>) -> (i32, Vec<Vec<&Item<'a>>>) {
        let longest = self.items.iter().filter_map(|item| match item {
            Item::Entry(_, words) => Some(words.chars().count().min(MOST_CHARACTERS)),
            _ => None,
        });
        let cell = frame.px(INDENT + MARGIN) + frame.width_of(longest.max().unwrap_or(0), 13);
        let columns = ((frame.width - 2 * frame.px(MARGIN)) / cell).max(1) as usize;
        let mut rows: Vec<Vec<&Item<'a>>> = Vec::new();
        for item in &self.items {
            match (item, rows.last_mut()) {
                (Item::Gap, _) => {}
                (Item::Entry(..), Some(row)) if row.len() < columns && matches!(row[0], Item::Entry(..)) => {
                    row.push(item);
                }
                _ => rows.push(vec![item]),
            }
        }
        (cell, rows)
    }
}

fn wrapped(words: &str, characters: usize) -> Vec<String> {
    let Some((end, _)) = words.char_indices().nth(characters) else {
        return vec![words.to_owned()];
    };
    let end = words[..end].rfind(' ').unwrap_or(end);
    vec![words[..end].to_owned(), shortened(words[end..].trim_start(), characters)]
}

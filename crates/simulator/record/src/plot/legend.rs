//! Legends: in a column at the right of the plot, or in rows below it.

use super::frame::{Area, DrawError, Frame, MARGIN, shortened};

/// Height of an entry, in px with text of 13 px; the same holds for the other lengths.
const LINE: i32 = 22;
/// Distance of the two lines of a long entry.
const SECOND: i32 = LINE - 4;
/// Indent of the text after a swatch.
const INDENT: i32 = 32;
/// Height of a row below a plot.
const ROW: i32 = 20;
/// Maximum number of rows below a plot.
const MAX_ROWS: usize = 10;
/// Maximum length of an entry in a row, in characters; longer entries are truncated.
const MAX_CHARACTERS: usize = 48;

/// Draws the symbol of an entry, from 0 to 24 px horizontally and around height 0. The second argument converts px to
/// the area's units.
pub(super) type Swatch<'a> = Box<dyn Fn(&Area<'_>, &dyn Fn(i32, i32) -> (i32, i32)) -> Result<(), DrawError> + 'a>;

enum Item<'a> {
    Heading(String),
    Entry(Swatch<'a>, String),
    Gap,
    Note(String),
}

impl Item<'_> {
    /// Returns the lines of the item's text in a column of this width.
    fn lines(&self, frame: &Frame<'_>, width: i32) -> Vec<String> {
        let characters = frame.characters(width - frame.px(INDENT), 13);
        match self {
            Self::Entry(_, words) => wrapped(words, characters),
            Self::Heading(words) => vec![shortened(words, characters)],
            Self::Note(words) => wrapped(words, frame.characters(width, 12)),
            Self::Gap => Vec::new(),
        }
    }
}

#[derive(Default)]
pub(super) struct Legend<'a> {
    items: Vec<Item<'a>>,
}

impl<'a> Legend<'a> {
    /// Adds a heading of the following entries, unless it is empty.
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

    /// Adds smaller text without a swatch.
    pub(super) fn note(&mut self, words: &str) {
        self.items.push(Item::Note(words.to_owned()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.iter().all(|item| matches!(item, Item::Gap))
    }

    /// Returns the height at which a column of this width shows all items, in units.
    pub(super) fn height_in_column(&self, frame: &Frame<'_>, width: i32) -> i32 {
        let height = |item: &Item<'_>| match (item, item.lines(frame, width).len() as i32) {
            (Item::Gap, _) => LINE / 2,
            (Item::Heading(_), _) => LINE,
            (Item::Entry(..), lines) => SECOND * lines + 4,
            (Item::Note(_), lines) => SECOND * lines,
        };
        frame.px(6 + LINE + self.items.iter().map(height).sum::<i32>())
    }

    /// Draws a column from the top of `area`. Ends with the number of entries that do not fit into `height`, in units.
    pub(super) fn draw_in_column(&self, frame: &Frame<'_>, area: &Area<'_>, height: i32) -> Result<(), DrawError> {
        let width = area.dim_in_pixel().0 as i32;
        let mut y = 6 + LINE / 2;
        for (number, item) in self.items.iter().enumerate() {
            let left: usize = self.items[number..].iter().filter(|item| matches!(item, Item::Entry(..))).count();
            let lines = item.lines(frame, width);
            if lines.is_empty() {
                y += LINE / 2;
                continue;
            }
            // The last entry needs no space for a line with the number of omitted entries.
            let below = if left > 1 { LINE } else { 0 };
            if frame.px(y + SECOND * (lines.len() as i32 - 1) + LINE / 2 + below) > height {
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
        if self.is_empty() { 0 } else { frame.px(ROW) * self.rows(frame).len().min(MAX_ROWS) as i32 + frame.px(MARGIN) }
    }

    pub(super) fn draw_in_rows(&self, frame: &Frame<'_>, area: &Area<'_>) -> Result<(), DrawError> {
        let rows = self.rows(frame);
        let omitted: usize = rows.iter().skip(MAX_ROWS - 1).map(Vec::len).sum();
        for (number, row) in rows.iter().take(MAX_ROWS).enumerate() {
            let y = frame.px(ROW) * number as i32 + frame.px(ROW / 2);
            if number + 1 == MAX_ROWS && rows.len() > MAX_ROWS {
                return frame.text(area, &format!("and {omitted} more"), (frame.px(MARGIN), y), 13);
            }
            for (x, item) in row {
                let fitting = |words: &str, indent: i32, pixels: i32| {
                    shortened(words, frame.characters(frame.width - x - frame.px(indent), pixels))
                };
                match item {
                    Item::Heading(words) => frame.text(area, &fitting(words, 0, 14), (*x, y), 14)?,
                    Item::Note(words) => frame.text(area, &fitting(words, 0, 12), (*x, y), 12)?,
                    Item::Entry(swatch, words) => {
                        swatch(area, &|right, down| (x + frame.px(right), y + frame.px(down)))?;
                        let words = shortened(words, MAX_CHARACTERS);
                        frame.text(area, &fitting(&words, INDENT, 13), (x + frame.px(INDENT), y), 13)?;
                    }
                    Item::Gap => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the items in rows, each with its position in units: side by side as far as they fit.
    fn rows(&self, frame: &Frame<'_>) -> Vec<Vec<(i32, &Item<'a>)>> {
        let (first, end) = (frame.px(MARGIN), frame.width - frame.px(MARGIN));
        let mut rows: Vec<Vec<(i32, &Item<'a>)>> = Vec::new();
        let mut x = first;
        for item in &self.items {
            let width = match item {
                Item::Gap => continue,
                Item::Heading(words) => frame.width_of(words.chars().count(), 14),
                Item::Note(words) => frame.width_of(words.chars().count(), 12),
                Item::Entry(_, words) => {
                    frame.px(INDENT) + frame.width_of(words.chars().count().min(MAX_CHARACTERS), 13)
                }
            };
            match rows.last_mut() {
                Some(row) if x + width <= end => row.push((x, item)),
                _ => {
                    rows.push(vec![(first, item)]);
                    x = first;
                }
            }
            x += width + frame.px(MARGIN);
        }
        rows
    }
}

fn wrapped(words: &str, characters: usize) -> Vec<String> {
    let Some((end, _)) = words.char_indices().nth(characters) else {
        return vec![words.to_owned()];
    };
    let end = words[..end].rfind(' ').unwrap_or(end);
    vec![words[..end].to_owned(), shortened(words[end..].trim_start(), characters)]
}

//! References to figures and tables in places and titles, such as "Table II, Fig 3" and "4.3.2, Figs. 8, 11".

use std::fmt;

/// A figure or a table of a paper. Figures sort before tables, each kind by number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Item {
    Figure(u32),
    /// Number, and its form in the paper.
    Table(u32, String),
}

/// Kind of the numbers that follow in the text.
#[derive(Clone, Copy)]
enum Kind {
    Figure,
    Table,
}

impl Item {
    /// Returns the figures and tables in a text, in order.
    pub(crate) fn all(text: &str) -> Vec<Self> {
        let mut items = Vec::new();
        let mut kind = None;
        let mut is_range = false;
        for word in text.split_whitespace() {
            let word = word.trim_end_matches([',', ':', ';', '.']);
            kind = match (word, kind) {
                ("Fig" | "Figs" | "Figure" | "Figures", _) => Some(Kind::Figure),
                ("Table" | "Tables", _) => Some(Kind::Table),
                ("and", kind) => kind,
                ("to", kind) => {
                    is_range = true;
                    kind
                }
                (word, Some(Kind::Figure)) => figure(word).map(|number| {
                    let first = match items.last() {
                        Some(Self::Figure(last)) if is_range && *last < number && number - last < 100 => last + 1,
                        _ => number,
                    };
                    items.extend((first..=number).map(Self::Figure));
                    is_range = false;
                    Kind::Figure
                }),
                (word, Some(Kind::Table)) => table(word).map(|number| {
                    items.push(Self::Table(number, word.to_owned()));
                    Kind::Table
                }),
                (_, None) => None,
            };
        }
        items
    }

    /// Returns the figures and tables before the first colon of a title.
    pub(crate) fn of_title(title: &str) -> Vec<Self> {
        title.split_once(':').map_or_else(Vec::new, |(start, _)| Self::all(start))
    }

    /// Returns the figure or table with a name in commands: `fig6`, `Figure 6`, `table2`, `tableII`.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let plain: String = name.chars().filter(|character| character.is_ascii_alphanumeric()).collect();
        let lower = plain.to_ascii_lowercase();
        for (word, kind) in [("figure", "Figure"), ("fig", "Figure"), ("table", "Table")] {
            if lower.starts_with(word) {
                let rest = &plain[word.len()..];
                let rest = if kind == "Table" { rest.to_ascii_uppercase() } else { rest.to_owned() };
                return Self::all(&format!("{kind} {rest}")).pop();
            }
        }
        None
    }

    pub(crate) fn short(&self) -> String {
        match self {
            Self::Figure(number) => format!("fig{number}"),
            Self::Table(number, _) => format!("table{number}"),
        }
    }

    /// Returns the anchor in the paper's section of the page.
    pub(crate) fn anchor(&self) -> String {
        match self {
            Self::Figure(number) => format!("figure-{number}"),
            Self::Table(_, name) => format!("table-{name}"),
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Figure(number) => write!(f, "Figure {number}"),
            Self::Table(_, name) => write!(f, "Table {name}"),
        }
    }
}

/// Parses the number of a figure, or of a part such as `4(a)`; none for a section number.
fn figure(word: &str) -> Option<u32> {
    let end = word.find(|character: char| !character.is_ascii_digit()).unwrap_or(word.len());
    let is_part = word[end..].chars().next().is_none_or(|next| next == '(' || next.is_ascii_alphabetic());
    word[..end].parse().ok().filter(|_| is_part)
}

fn table(word: &str) -> Option<u32> {
    if let Ok(number) = word.parse() {
        return Some(number);
    }
    let digits: Vec<u32> =
        word.chars().map(roman).collect::<Option<_>>().filter(|digits: &Vec<u32>| !digits.is_empty())?;
    let signed = digits.iter().enumerate().map(|(at, digit)| {
        let is_less = digits.get(at + 1).is_some_and(|next| next > digit);
        if is_less { -i64::from(*digit) } else { i64::from(*digit) }
    });
    u32::try_from(signed.sum::<i64>()).ok()
}

fn roman(digit: char) -> Option<u32> {
    match digit {
        'I' => Some(1),
        'V' => Some(5),
        'X' => Some(10),
        'L' => Some(50),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_tables_of_places_are_found() {
        for (place, found) in [
            ("Fig 2, III", "Figure 2"),
            ("Table II, Fig 3", "Table II, Figure 3"),
            ("4.3.2, Figs. 8, 11", "Figure 8, Figure 11"),
            ("Fig. 10, 4.3.2", "Figure 10"),
            ("I, II, Fig 1, eq (1)", "Figure 1"),
            ("III, Fig 4(a)", "Figure 4"),
            ("4.1, Table 1 against Appendix", "Table 1"),
            ("Figures 6 to 8 and 10", "Figure 6, Figure 7, Figure 8, Figure 10"),
            ("IV.F eqs (4)-(5)", ""),
        ] {
            let names: Vec<String> = Item::all(place).iter().map(Item::to_string).collect();
            assert_eq!(names.join(", "), found, "{place}");
        }
    }

    #[test]
    fn names_in_commands_are_parsed() {
        for (name, short) in [
            ("fig6", Some("fig6")),
            ("Figure 6", Some("fig6")),
            ("Fig. 4a", Some("fig4")),
            ("tableII", Some("table2")),
            ("table iv", Some("table4")),
            ("Table 3", Some("table3")),
            ("figures", None),
            ("lan.fig3.a", None),
            ("intra", None),
        ] {
            assert_eq!(Item::of_name(name).map(|item| item.short()).as_deref(), short, "{name}");
        }
    }

    #[test]
    fn figures_and_tables_of_titles_are_found() {
        assert_eq!(Item::of_title("Figures 6 and 7: of Fig. 8"), [Item::Figure(6), Item::Figure(7)]);
        assert_eq!(Item::of_title("Plainer than Fig. 8"), []);
        assert_eq!(Item::of_title("Table IV: loss"), [Item::Table(4, "IV".to_owned())]);
        assert!(Item::Figure(9) < Item::Figure(10) && Item::Figure(10) < Item::Table(1, "I".to_owned()));
    }
}

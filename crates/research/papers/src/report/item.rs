//! The figures and tables of a paper, as places and titles name them: "Table II, Fig 3", "4.3.2, Figs. 8, 11".

use std::fmt;

/// A figure or a table of a paper. Figures come first, each kind in the order of its numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Item {
    Figure(u32),
    /// By its number, and as the paper writes it.
    Table(u32, String),
}

/// What numbers belong to while words are read.
#[derive(Clone, Copy)]
enum Kind {
    Figure,
    Table,
}

impl Item {
    /// Those that a text names, in its order.
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

    /// Those that a title begins with.
    pub(crate) fn of_title(title: &str) -> Vec<Self> {
        title.split_once(':').map_or_else(Vec::new, |(begins, _)| Self::all(begins))
    }

    /// The one that a command names: `fig6`, `Figure 6`, `table2`, `tableII`.
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

    /// What commands call it.
    pub(crate) fn short(&self) -> String {
        match self {
            Self::Figure(number) => format!("fig{number}"),
            Self::Table(number, _) => format!("table{number}"),
        }
    }

    /// Where it is in a paper's part of the page.
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

/// The number of a figure, or of a part of it such as `4(a)`; no number of a section.
fn figure(word: &str) -> Option<u32> {
    let end = word.find(|character: char| !character.is_ascii_digit()).unwrap_or(word.len());
    let is_part = word[end..].chars().next().is_none_or(|next| next == '(' || next.is_ascii_alphabetic());
    word[..end].parse().ok().filter(|_| is_part)
}

/// A number, or a Roman one.
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
    fn places_name_figures_and_tables() {
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
    fn commands_name_figures_and_tables() {
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
    fn titles_name_what_they_begin_with() {
        assert_eq!(Item::of_title("Figures 6 and 7: of Fig. 8"), [Item::Figure(6), Item::Figure(7)]);
        assert_eq!(Item::of_title("Plainer than Fig. 8"), []);
        assert_eq!(Item::of_title("Table IV: loss"), [Item::Table(4, "IV".to_owned())]);
        assert!(Item::Figure(9) < Item::Figure(10) && Item::Figure(10) < Item::Table(1, "I".to_owned()));
    }
}

//! Escaping of text and of anchors in HTML.

use std::fmt::{self, Write};

/// Text that is escaped for elements and quoted attributes of HTML.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// Returns a name as an anchor: other characters than ASCII letters, digits, `.`, `_` and `-` become `-`.
pub(super) fn anchor(name: &str) -> String {
    let plain =
        |character: char| if character.is_ascii_alphanumeric() || "._-".contains(character) { character } else { '-' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped() {
        assert_eq!(Escaped("<b a=\"'&\">").to_string(), "&lt;b a=&quot;&#39;&amp;&quot;&gt;");
        assert_eq!(anchor("lan.t2.red.udp.10"), "lan.t2.red.udp.10");
        assert_eq!(anchor("a \"b\">"), "a--b--");
    }
}

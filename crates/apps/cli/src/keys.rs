//! Parser of `KIND[,KEY=VALUE...]`, the syntax of options such as `--queue` and `--controller`.

use serde_json::Value;

pub(crate) type Pair<'a> = (&'a str, Value);

/// Splits the text into the kind and the keys with their values, in order. A list is `KEY=[VALUE,VALUE]`.
///
/// # Errors
///
/// A key without a value, or a duplicate key.
pub(crate) fn pairs(text: &str) -> Result<(&str, Vec<Pair<'_>>), String> {
    let mut parts = parts(text);
    let kind = parts.next().unwrap_or_default();
    let mut pairs = Vec::new();
    for part in parts {
        let Some((key, text)) = part.split_once('=') else {
            return Err(format!("\"{part}\" has no value; expected KEY=VALUE"));
        };
        let key = key.trim();
        if pairs.iter().any(|(known, _)| *known == key) {
            return Err(format!("{key}: duplicate key"));
        }
        pairs.push((key, value(text.trim())));
    }
    Ok((kind, pairs))
}

/// Splits the text at commas outside of brackets.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut in_list = false;
    let between = move |character| {
        in_list = match character {
            '[' => true,
            ']' => false,
            _ => in_list,
        };
        character == ',' && !in_list
    };
    text.split(between).map(str::trim)
}

fn value(text: &str) -> Value {
    if let Some(list) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Value::Array(list.split(',').map(|part| scalar(part.trim())).collect());
    }
    scalar(text)
}

fn scalar(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pairs_parses_kind_keys_and_lists() {
        for (text, kind, keys) in [
            ("udpm", "udpm", json!([])),
            (" udpm , levels = 5", "udpm", json!([["levels", 5]])),
            (
                "udpm,ladder=[64kbps, 1Mbps],halve=once",
                "udpm",
                json!([["ladder", ["64kbps", "1Mbps"]], ["halve", "once"]]),
            ),
            ("sfdps2,resend=true,limit=1packets", "sfdps2", json!([["resend", true], ["limit", "1packets"]])),
            ("a,b=c=d,e=[", "a", json!([["b", "c=d"], ["e", "["]])),
        ] {
            let (known, pairs) = pairs(text).unwrap();
            assert_eq!((known, serde_json::to_value(pairs).unwrap()), (kind, keys), "{text}");
        }
        for (text, why) in [
            ("udpm,levels", "\"levels\" has no value; expected KEY=VALUE"),
            ("udpm,", "\"\" has no value; expected KEY=VALUE"),
            ("udpm,levels=5, levels = 6", "levels: duplicate key"),
        ] {
            assert_eq!(pairs(text), Err(why.to_owned()), "{text}");
        }
    }
}

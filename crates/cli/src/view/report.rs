//! `headway report`: one file that holds the page and the records, to be sent to somebody.

use super::page;
use super::records::{FILES, Records};
use crate::arguments::ReportOptions;
use crate::error::Failure;
use crate::output;
use serde_json::{Map, Value, json};
use std::io::Read;

/// A file that browsers still open at once, and mail still takes.
const LARGEST: u64 = 48 << 20;

pub(crate) fn report(options: &ReportOptions) -> Result<(), Failure> {
    let records = Records::open(&options.records)?;
    let page = match page::VIEWER {
        Some(viewer) => with(viewer, &data(&records, options)?)?,
        None => page::plain(&records)?,
    };
    std::fs::write(&options.out, page).map_err(Failure::file("write", &options.out))?;
    output::text(&options.out.display().to_string())
}

/// The records' files, as the page finds them in itself.
fn data(records: &Records, options: &ReportOptions) -> Result<Value, Failure> {
    let (mut all, mut bytes) = (Vec::new(), 0);
    for (number, (record, listed)) in records.iter().zip(records.list()).enumerate() {
        let mut files = Map::new();
        for name in FILES {
            let Some((mut file, length)) = record.file(name) else { continue };
            if options.without_packets && name.starts_with("packets.") {
                continue;
            }
            bytes += length;
            if bytes > LARGEST {
                let reason = format!(
                    "with {name} the report would have more than {} MiB: write --without-packets, or name fewer records",
                    LARGEST >> 20
                );
                return Err(Failure::record(record.folder().path(name), reason));
            }
            let mut content = Vec::new();
            let path = record.folder().path(name);
            file.read_to_end(&mut content).map_err(Failure::file("read", &path))?;
            files.insert(name.to_owned(), Value::String(base64(&content)));
        }
        let listed = serde_json::to_value(listed).map_err(|error| Failure::Output(error.into()))?;
        all.push(json!({ "id": number.to_string(), "name": listed["name"], "files": files }));
    }
    Ok(json!({ "records": all }))
}

/// The page with its data where it has a place for them. Nothing in them can end the element that holds them.
fn with(viewer: &str, data: &Value) -> Result<String, Failure> {
    let (head, tail) = viewer.split_once("<!--headway-data-->").ok_or_else(|| {
        Failure::Plot(
            "the viewer that this program was built with has no place for data: make viewer, and build it again"
                .to_owned(),
        )
    })?;
    let data = data.to_string().replace('<', "\\u003c");
    Ok(format!("{head}<script type=\"application/json\" id=\"headway-data\">{data}</script>{tail}"))
}

/// RFC 4648 section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let index = (number >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit <= three.len() { char::from(DIGITS[index]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648 section 10.
    #[test]
    fn base64_of_the_rfc() {
        for (text, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(text.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

    #[test]
    fn data_cannot_end_its_element() {
        let page = with("<body><!--headway-data--><p></body>", &json!({ "name": "</script><b>" })).unwrap();
        assert!(page.ends_with(">{\"name\":\"\\u003c/script>\\u003cb>\"}</script><p></body>"), "{page}");
        assert!(with("no page", &json!({})).is_err());
    }
}

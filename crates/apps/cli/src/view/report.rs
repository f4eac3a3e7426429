//! `headway report`: one file that holds the page and the records, to be sent to somebody.

use super::page;
use super::records::{FILES, Records};
use crate::arguments::ReportOptions;
use crate::error::Failure;
use crate::output;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use headway_run::Finding;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Read;

/// A file that browsers still open at once, and mail still takes.
const LARGEST: u64 = 48 << 20;

pub(crate) fn report(options: &ReportOptions) -> Result<(), Failure> {
    let file = output::Page::at(&options.out)?;
    let records = Records::open(&options.records)?;
    let page = match page::VIEWER {
        Some(viewer) => with(viewer, &data(&records, options)?)?,
        None => page::plain(&records)?,
    };
    file.write(&page, &options.out.display().to_string())
}

/// The records' files, as the page finds them in itself.
fn data(records: &Records, options: &ReportOptions) -> Result<Value, Failure> {
    let (mut all, mut bytes) = (Vec::new(), 0);
    for (number, (record, listed)) in records.iter().zip(records.list()).enumerate() {
        let mut files = Map::new();
        for name in FILES {
            let path = record.folder().path(name);
            let Some(file) = record.file(name).map_err(Failure::file("read", &path))? else { continue };
            let length = file.len();
            if options.without_packets && name.starts_with("packets.") {
                continue;
            }
            bytes += length;
            if bytes > LARGEST {
                let less = match (records.iter().count(), options.without_packets) {
                    (1, true) => "sample less often ([record] series), or look at it with `headway view`",
                    (1, false) => "write --without-packets",
                    (_, true) => "name fewer records",
                    (_, false) => "write --without-packets, or name fewer records",
                };
                let reason = format!("with {name} the report would have more than {} MiB: {less}", LARGEST >> 20);
                return Err(Failure::record(path, reason));
            }
            let mut content = Vec::new();
            let read = file.part(0, length).and_then(|mut file| file.read_to_end(&mut content));
            read.map_err(Failure::file("read", &path))?;
            files.insert(name.to_owned(), Value::String(STANDARD.encode(&content)));
        }
        let findings = serde_json::to_vec(&record.findings()?).map_err(|error| Failure::Output(error.into()))?;
        files.insert("findings.json".to_owned(), Value::String(STANDARD.encode(findings)));
        let listed = serde_json::to_value(listed).map_err(|error| Failure::Output(error.into()))?;
        all.push(json!({ "id": number.to_string(), "name": listed["name"], "files": files }));
    }
    let several: Vec<_> = records.iter().collect();
    let ids: Vec<String> = (0..several.len()).map(|number| number.to_string()).collect();
    let between = (several.len() > 1).then(|| records.findings(&several)).transpose()?.flatten();
    let between: BTreeMap<String, Vec<Finding>> = between.map(|found| (ids.join(","), found)).into_iter().collect();
    Ok(json!({ "records": all, "between": between }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_element() {
        let page = with("<body><!--headway-data--><p></body>", &json!({ "name": "</script><b>" })).unwrap();
        assert!(page.ends_with(">{\"name\":\"\\u003c/script>\\u003cb>\"}</script><p></body>"), "{page}");
        assert!(with("no page", &json!({})).is_err());
    }
}

//! The page: the viewer if it was built before this program was, or plain pictures.

use super::records::Records;
use crate::error::Failure;
use crate::plot::read;
use headway_record::plot::{Run, Style, figures};
use headway_record::{Summary, flow_table, link_table};
use headway_run::Folder;

// `pub(super) const VIEWER: Option<&str>`: `viewer/dist/index.html`, as it was when this was built.
include!(concat!(env!("OUT_DIR"), "/viewer.rs"));

/// The security policy of the plain page: nothing runs, nothing is loaded.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// What stands in where the viewer was not built: the tables of `headway run`, and the pictures of `headway plot`.
pub(super) fn plain(records: &Records) -> Result<String, Failure> {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Headway</title>\
         <style>body{{font:16px/1.4 system-ui,sans-serif;margin:1rem auto;max-width:62rem;padding:0 1rem}}\
         pre{{overflow-x:auto;font-size:13px}}svg{{max-width:100%;height:auto;background:#fff}}</style>\
         <p>This program was built without its viewer, so these are tables and pictures: <code>make viewer</code>, and build it again.</p>"
    );
    let mut all = Vec::new();
    for record in records.iter() {
        let summary = record.folder().read(Folder::SUMMARY)?;
        let wrong = |why: String| Failure::record(record.folder().path(Folder::SUMMARY), why);
        let text = String::from_utf8_lossy(&summary);
        let summary = Summary::from_json(&text).map_err(|error| wrong(error.to_string()))?;
        let tables = format!("{}\n{}", flow_table(&summary), link_table(&summary));
        page.push_str(&format!("<h2>{}</h2><pre>{}</pre>", escaped(&record.label), escaped(&tables)));
        if record.folder().path(Folder::SERIES).exists() {
            all.push((record.label.clone(), read(record.folder())?));
        }
    }
    let runs: Vec<_> = all.iter().map(|(label, (series, from))| Run { label, series, from: *from }).collect();
    let drawn = figures(&runs, &Style::default()).map_err(|error| Failure::Plot(error.to_string()))?;
    drawn.iter().for_each(|figure| page.push_str(&figure.svg));
    page.push_str("</html>\n");
    Ok(page)
}

/// Text that HTML shows as it is.
pub(super) fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut safe, c| {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
        safe
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text() {
        assert_eq!(escaped("<script>'\"&"), "&lt;script&gt;&#39;&quot;&amp;");
    }
}

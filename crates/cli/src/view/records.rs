//! The records that a page shows, and their files.

use crate::error::Failure;
use crate::plot::{chosen, is_record, labels};
use headway_record::{Summary, arrow_stream};
use headway_run::{Finding, Folder, findings, findings_between, open_regular};
use serde::Serialize;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// What the page may ask for: whatever else lies in the folder is nobody's business.
pub(super) const FILES: [&str; 8] = [
    Folder::SUMMARY,
    Folder::SCENARIO,
    Folder::SERIES,
    Folder::DISTRIBUTIONS,
    Folder::TIMING,
    "events.arrow",
    "packets.index.json",
    "packets.arrow",
];

/// What there is of them while the run is under way.
const GROWING: [&str; 3] = [Folder::SUMMARY, Folder::SERIES, Folder::EVENTS];

/// What is read of a file.
pub(super) trait Content: Read + Seek + Send {}
impl<T: Read + Seek + Send> Content for T {}

pub(super) struct Records(Vec<Record>);

pub(super) struct Record {
    folder: Folder,
    pub(super) label: String,
}

/// A record, as the page is told of it.
#[derive(Serialize)]
pub(super) struct Listed {
    /// Its number in the order of the command.
    id: String,
    name: String,
    complete: bool,
    /// Another one if it has been run again.
    revision: String,
    /// Its run has left no summary yet.
    in_progress: bool,
    /// Nor will it, as nobody is writing there any more.
    killed: bool,
    files: Vec<ListedFile>,
}

#[derive(Serialize)]
struct ListedFile {
    name: &'static str,
    bytes: u64,
}

impl Records {
    pub(super) fn open(asked: &[PathBuf]) -> Result<Self, Failure> {
        let folders = chosen(asked)?;
        folders.iter().try_for_each(is_record)?;
        Ok(Self::of(folders))
    }

    /// The same, with records whose runs are under way.
    pub(super) fn open_early(asked: &[PathBuf]) -> Result<Self, Failure> {
        let folders = chosen(asked)?;
        folders.iter().filter(|folder| !folder.is_record()).try_for_each(is_record)?;
        Ok(Self::of(folders))
    }

    fn of(folders: Vec<Folder>) -> Self {
        let labels = labels(&folders);
        Self(folders.into_iter().zip(labels).map(|(folder, label)| Record { folder, label }).collect())
    }

    /// One whose run is under way.
    pub(super) fn of_one(folder: Folder, label: &str) -> Self {
        Self(vec![Record { folder, label: label.to_owned() }])
    }

    /// What is worth looking at in these, or between them if they are several; nothing of one whose run is under way.
    pub(super) fn findings(&self, asked: &[&Record]) -> Result<Option<Vec<Finding>>, Failure> {
        match asked {
            [] => Ok(None),
            [record] if record.in_progress() => Ok(None),
            [record] => record.findings().map(Some),
            several => {
                let done = several.iter().filter(|record| !record.in_progress());
                let summaries = done.map(|record| Ok((record.label.as_str(), record.summary()?)));
                Ok(Some(findings_between(&summaries.collect::<Result<Vec<_>, Failure>>()?)))
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.0.iter()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Record> {
        self.0.get(id.parse::<usize>().ok()?)
    }

    /// All of them, with the files that there are now.
    pub(super) fn list(&self) -> Vec<Listed> {
        let of = |(number, record): (usize, &Record)| {
            let name = record.label.clone();
            let (complete, in_progress) = (record.complete(), record.in_progress());
            let killed = in_progress && !record.folder.is_claimed();
            Listed {
                id: number.to_string(),
                name,
                complete,
                in_progress,
                killed,
                revision: record.revision(),
                files: record.files(),
            }
        };
        self.0.iter().enumerate().map(of).collect()
    }
}

impl Record {
    pub(super) const fn folder(&self) -> &Folder {
        &self.folder
    }

    fn in_progress(&self) -> bool {
        !self.folder.path(Folder::SUMMARY).exists()
    }

    /// Changes whenever the summary is written anew.
    fn revision(&self) -> String {
        let written = self.folder.path(Folder::SUMMARY).metadata().and_then(|data| data.modified()).ok();
        let since = written.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        since.map_or_else(String::new, |since| since.as_nanos().to_string())
    }

    fn complete(&self) -> bool {
        self.summary().is_ok_and(|summary| summary.complete)
    }

    fn summary(&self) -> Result<Summary, Failure> {
        let text = String::from_utf8_lossy(&self.folder.read(Folder::SUMMARY)?).into_owned();
        let of_record =
            |error: headway_record::SummaryError| Failure::record(self.folder.path(Folder::SUMMARY), error.to_string());
        Summary::from_json(&text).map_err(of_record)
    }

    /// What is worth looking at in it.
    pub(super) fn findings(&self) -> Result<Vec<Finding>, Failure> {
        Ok(findings(&self.folder, &self.summary()?)?)
    }

    fn files(&self) -> Vec<ListedFile> {
        let there = |name: &'static str, path: PathBuf| {
            let data = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
            (data.len() > 0).then_some(ListedFile { name, bytes: data.len() })
        };
        if self.in_progress() {
            return GROWING.into_iter().filter_map(|name| there(name, self.folder.growing(name))).collect();
        }
        FILES.into_iter().filter_map(|name| there(name, self.folder.path(name))).collect()
    }

    /// One of its files, and how long it is. Of one that is growing it is what there is, as an Arrow stream if it is one of Arrow's.
    pub(super) fn file(&self, name: &str) -> Option<(Box<dyn Content>, u64)> {
        let listed = self.files().into_iter().find(|file| file.name == name)?;
        if self.in_progress() {
            let mut bytes = Vec::new();
            open_regular(&self.folder.growing(listed.name), u64::MAX)
                .ok()?
                .take(listed.bytes)
                .read_to_end(&mut bytes)
                .ok()?;
            let bytes = if name.ends_with(".arrow") { arrow_stream(&bytes)? } else { bytes };
            let length = bytes.len() as u64;
            return Some((Box::new(Cursor::new(bytes)), length));
        }
        let file = open_regular(&self.folder.path(listed.name), u64::MAX).ok()?;
        let length = file.metadata().ok()?.len();
        Some((Box::new(file), length))
    }
}

/// So many bytes of a file, from there on.
pub(super) fn part(mut file: Box<dyn Content>, from: u64, length: u64) -> std::io::Result<impl Read + Send> {
    file.seek(SeekFrom::Start(from))?;
    Ok(file.take(length))
}

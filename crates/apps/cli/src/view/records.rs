//! Records of a page, and their files.

use crate::error::Failure;
use crate::plot::{check_record, labels, records};
use headway_record::{ARROW_STREAM_END, Summary, arrow_messages};
use headway_run::{Finding, Folder, findings, findings_between, open_regular};
use serde::Serialize;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;

/// Files of a record that the page can request. Other files in the folder are not served.
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

/// Files that exist while the run is in progress.
const GROWING: [&str; 3] = [Folder::SUMMARY, Folder::SERIES, Folder::EVENTS];

/// Part of a file, followed by an end marker that a growing file lacks.
pub(super) struct Content {
    file: File,
    part: Range<u64>,
    end: &'static [u8],
}

impl Content {
    pub(super) fn len(&self) -> u64 {
        self.part.end - self.part.start + self.end.len() as u64
    }

    /// Returns a reader of `length` bytes from the offset `from`.
    pub(super) fn part(mut self, from: u64, length: u64) -> io::Result<impl Read + Send> {
        let of_file = self.part.end - self.part.start;
        let start = from.min(of_file);
        self.file.seek(SeekFrom::Start(self.part.start + start))?;
        // The offsets are within `len`, and the end marker has a few bytes.
        let skipped = usize::try_from(from - start).unwrap_or(usize::MAX).min(self.end.len());
        Ok(self.file.take(of_file - start).chain(&self.end[skipped..]).take(length))
    }
}

pub(super) struct Records(Vec<Record>);

pub(super) struct Record {
    folder: Folder,
    pub(super) label: String,
}

/// Description of a record for the page.
#[derive(Serialize)]
pub(super) struct Listed {
    /// Index of the record in the command.
    id: String,
    name: String,
    complete: bool,
    /// Value that changes when the scenario is run again.
    revision: String,
    /// Whether the summary does not exist yet.
    in_progress: bool,
    /// Whether the run ended without a summary.
    killed: bool,
    files: Vec<ListedFile>,
}

#[derive(Serialize)]
struct ListedFile {
    name: &'static str,
    bytes: u64,
}

impl Records {
    /// Opens complete records.
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, Failure> {
        let folders = records(paths)?;
        folders.iter().try_for_each(check_record)?;
        Self::of(folders)
    }

    /// Opens complete records and records of runs in progress.
    pub(super) fn open_growing(paths: &[PathBuf]) -> Result<Self, Failure> {
        let folders = records(paths)?;
        folders.iter().filter(|folder| !folder.is_record()).try_for_each(check_record)?;
        Self::of(folders)
    }

    fn of(folders: Vec<Folder>) -> Result<Self, Failure> {
        for folder in &folders {
            // The page reads these files completely, and packets in part.
            [Folder::SUMMARY, Folder::SERIES, Folder::EVENTS].iter().try_for_each(|name| folder.check(name))?;
        }
        let labels = labels(&folders);
        Ok(Self(folders.into_iter().zip(labels).map(|(folder, label)| Record { folder, label }).collect()))
    }

    /// Returns the record of a run in progress.
    pub(super) fn of_one(folder: Folder, label: &str) -> Self {
        Self(vec![Record { folder, label: label.to_owned() }])
    }

    /// Returns the findings of one record, or of the comparison of several. `None` if the run of a single record is in
    /// progress.
    pub(super) fn findings(&self, selected: &[&Record]) -> Result<Option<Vec<Finding>>, Failure> {
        match selected {
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

    /// Returns all records with their current files.
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

    /// Returns the modification time of the summary in ns, or an empty string.
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

    pub(super) fn findings(&self) -> Result<Vec<Finding>, Failure> {
        Ok(findings(&self.folder, &self.summary()?)?)
    }

    fn files(&self) -> Vec<ListedFile> {
        let existing = |name: &'static str, path: PathBuf| {
            let data = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
            (data.len() > 0).then_some(ListedFile { name, bytes: data.len() })
        };
        if self.in_progress() {
            return GROWING.into_iter().filter_map(|name| existing(name, self.folder.partial_path(name))).collect();
        }
        FILES.into_iter().filter_map(|name| existing(name, self.folder.path(name))).collect()
    }

    /// Returns a file, or `None` if the record has no such file. A growing Arrow file is returned as an Arrow stream of
    /// its complete messages.
    ///
    /// # Errors
    ///
    /// The file exists but cannot be read.
    pub(super) fn file(&self, name: &str) -> io::Result<Option<Content>> {
        let Some(listed) = self.files().into_iter().find(|file| file.name == name) else { return Ok(None) };
        let is_growing = self.in_progress();
        let path = if is_growing { self.folder.partial_path(listed.name) } else { self.folder.path(listed.name) };
        let mut file = match open_regular(&path, u64::MAX) {
            // The run ended after the files were listed.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let length = file.metadata()?.len();
        if is_growing && name.ends_with(".arrow") {
            let part = arrow_messages(&mut file, length)?;
            return Ok(part.map(|part| Content { file, part, end: &ARROW_STREAM_END }));
        }
        Ok(Some(Content { file, part: 0..length, end: &[] }))
    }
}

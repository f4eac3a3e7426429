//! The records that a page shows, and their files.

use crate::error::Failure;
use crate::plot::{chosen, is_record, labels};
use headway_record::{ARROW_STREAM_END, Summary, arrow_messages};
use headway_run::{Finding, Folder, findings, findings_between, open_regular};
use serde::Serialize;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
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

/// A part of a file, with an end that the file lacks while it grows.
pub(super) struct Content {
    file: File,
    part: Range<u64>,
    end: &'static [u8],
}

impl Content {
    pub(super) fn len(&self) -> u64 {
        self.part.end - self.part.start + self.end.len() as u64
    }

    /// Returns `length` bytes from `from` on, to be read as they are needed.
    pub(super) fn part(mut self, from: u64, length: u64) -> io::Result<impl Read + Send> {
        let of_file = self.part.end - self.part.start;
        let start = from.min(of_file);
        self.file.seek(SeekFrom::Start(self.part.start + start))?;
        // Both lie within `len`, of which the end has a few bytes.
        let skipped = usize::try_from(from - start).unwrap_or(usize::MAX).min(self.end.len());
        Ok(self.file.take(of_file - start).chain(&self.end[skipped..]).take(length))
    }
}

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

    /// Returns one of its files, if it has this one. Of an Arrow file that is growing it is the whole messages so far, as an Arrow stream.
    ///
    /// # Errors
    ///
    /// The file is there and cannot be read.
    pub(super) fn file(&self, name: &str) -> io::Result<Option<Content>> {
        let Some(listed) = self.files().into_iter().find(|file| file.name == name) else { return Ok(None) };
        let is_growing = self.in_progress();
        let path = if is_growing { self.folder.growing(listed.name) } else { self.folder.path(listed.name) };
        let mut file = match open_regular(&path, u64::MAX) {
            // The run has ended since the files were listed.
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

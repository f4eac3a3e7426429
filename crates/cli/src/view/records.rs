//! The records that a page shows, and their files.

use crate::error::Failure;
use crate::plot::{chosen, is_record, labels};
use headway_record::Summary;
use headway_run::{Finding, Folder, findings};
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
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
    /// Its run has left no summary yet; or never will, if it was killed.
    in_progress: bool,
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
            let in_progress = !record.folder.path(Folder::SUMMARY).exists();
            Listed { id: number.to_string(), name, complete: record.complete(), in_progress, files: record.files() }
        };
        self.0.iter().enumerate().map(of).collect()
    }
}

impl Record {
    pub(super) const fn folder(&self) -> &Folder {
        &self.folder
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
        let there = |name: &'static str| {
            let path = self.folder.path(name);
            let data = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some(ListedFile { name, bytes: data.len() })
        };
        FILES.into_iter().filter_map(there).collect()
    }

    /// One of its files, and how long it is.
    pub(super) fn file(&self, name: &str) -> Option<(File, u64)> {
        let listed = self.files().into_iter().find(|file| file.name == name)?;
        let file = File::open(self.folder.path(listed.name)).ok()?;
        let length = file.metadata().ok()?.len();
        Some((file, length))
    }
}

/// So many bytes of a file, from there on.
pub(super) fn part(mut file: File, from: u64, length: u64) -> std::io::Result<impl Read + Send> {
    file.seek(SeekFrom::Start(from))?;
    Ok(file.take(length))
}

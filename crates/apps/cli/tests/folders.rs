//! Output folders: files of other programs are kept, and invalid records are refused.

use crate::common::{VOICE, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("voice.toml", VOICE);
        place.write(
            "sweep.toml",
            &format!("{VOICE}[vary]\n\"flow[0].source.interval\" = [\"20ms\", \"30ms\", \"40ms\"]\n"),
        );
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs a command in the folder.
    fn headway(&self, words: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
        command.current_dir(self.0.path()).args(words.split(' ')).output().unwrap()
    }

    fn does(&self, words: &str) -> String {
        let ran = self.headway(words);
        assert!(ran.status.success(), "{words}: {}", text(&ran.stderr));
        text(&ran.stderr)
    }

    fn refuses(&self, words: &str, part: &str) {
        let ran = self.headway(words);
        assert_eq!(ran.status.code(), Some(1), "{words}: {}", text(&ran.stderr));
        assert!(text(&ran.stderr).contains(part), "{words}: {}", text(&ran.stderr));
    }
}

/// Returns all files of a folder and its subfolders, with their bytes.
fn all(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(all(&path));
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn folders_with_other_files_are_not_changed() {
    let place = Place::new();
    for name in ["mine/scenario.toml", "mine/summary.json", "mine/throughput.svg", "mine/.lock", "mine/results.json"] {
        place.write(name, "mine");
    }
    place.does("run voice.toml --out record --quiet");
    let before = all(place.0.path());
    for words in [
        "run voice.toml --out .",
        "run voice.toml --out mine",
        "run sweep.toml --out mine",
        "plot record --out mine",
        "papers check lan-queues --cell droptail.udp.3 --out mine",
        "papers run lan-queues --cell droptail.udp.3 --out mine",
    ] {
        place.refuses(words, "it holds files that Headway did not write");
    }
    assert_eq!(all(place.0.path()), before);
}

#[test]
fn a_record_is_overwritten_and_other_files_are_kept() {
    let place = Place::new();
    fs::create_dir(place.path("empty")).unwrap();
    place.does("run voice.toml --out empty --trace ns2 --trace packets");
    assert!(place.path("empty/packets.index.json").exists());
    place.does("plot empty");
    place.write("empty/notes.txt", "mine");
    place.write("empty/.lock", "mine");
    place.does("run voice.toml --out empty --seed 2");
    assert_eq!((place.read("empty/notes.txt"), place.read("empty/.lock")), ("mine".into(), "mine".into()));
    assert!(place.read("empty/summary.json").contains("\"seed\": 2"));
    assert!(!place.path("empty/packets.arrow").exists() && !place.path("empty/packets.index.json").exists());
    assert!(!place.path("empty/trace.tr").exists() && !place.path("empty/throughput.svg").exists());
}

#[test]
fn records_and_sweeps_are_not_mixed() {
    let place = Place::new();
    place.does("run voice.toml --out one");
    place.does("run sweep.toml --out many");
    place.refuses(
        "run sweep.toml --out one",
        "it holds the record of a run, and not the runs of a scenario with [vary]",
    );
    place.refuses(
        "run voice.toml --out many",
        "it holds the runs of a scenario with [vary], and not the record of a run",
    );
}

#[test]
fn an_edited_scenario_in_its_record_is_not_overwritten() {
    let place = Place::new();
    place.does("run voice.toml --out record");
    place.does("run record/scenario.toml --out record");
    let changed = place.read("record/scenario.toml") + "# what I have found out\n";
    place.write("record/scenario.toml", &changed);
    place.refuses("run record/scenario.toml --out record", "would overwrite its scenario");
    assert_eq!(place.read("record/scenario.toml"), changed);
}

#[test]
fn input_files_do_not_overwrite_other_files() {
    let place = Place::new();
    let media = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/demo.toml")).unwrap();
    let file = media.split("file = \"").nth(1).unwrap().split('"').next().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios").join(file);
    place.write("demo.toml", &media);
    place.write(file, &fs::read_to_string(from).unwrap());
    place.does("run voice.toml --out record");
    place.write(&format!("record/{file}"), "mine");
    place.refuses("run demo.toml --out record --set duration=1s --set measure_from=0s", "which would be overwritten");
    assert_eq!(place.read(&format!("record/{file}")), "mine");
    // The copy of a previous run may be replaced.
    place.does("run demo.toml --out other --set duration=1s --set measure_from=0s");
    place.does("run demo.toml --out other --set duration=1s --set measure_from=0s");
    place.does("run voice.toml --out other");
    assert!(!place.path(&format!("other/{file}")).exists());
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    place.write("target.json", "mine");
    place.does("run voice.toml --out record");
    for name in ["summary.json", "summary.json.partial", "throughput.svg"] {
        let _ = fs::remove_file(place.path("record").join(name));
        symlink(place.path("target.json"), place.path("record").join(name)).unwrap();
    }
    place.does("run voice.toml --out record");
    for name in ["throughput.svg", "throughput.svg.partial"] {
        symlink(place.path("target.json"), place.path("record").join(name)).unwrap();
    }
    place.does("plot record");
    // Listed files in a linked folder or in the parent folder.
    place.write("moved/trace.txt", "mine");
    symlink(place.path("moved"), place.path("record/media")).unwrap();
    let listed = place.read("record/checksums.txt");
    let sum = listed.split_whitespace().next().unwrap();
    place.write("record/checksums.txt", &format!("{listed}{sum}  media/trace.txt\n{sum}  ../target.json\n"));
    place.does("run voice.toml --out record");
    assert_eq!(place.read("moved/trace.txt"), "mine");
    // Runs of a sweep and cells of a paper.
    place.does("run sweep.toml --out sweep");
    let first = place.path("sweep/interval=20ms");
    fs::remove_dir_all(&first).unwrap();
    fs::create_dir(place.path("elsewhere")).unwrap();
    symlink(place.path("elsewhere"), &first).unwrap();
    place.refuses("run sweep.toml --out sweep", "symbolic link");
    place.does("papers run lan-queues --cell droptail.udp.3 --out paper");
    for name in ["pictures", "runs"] {
        fs::remove_dir_all(place.path("paper").join(name)).unwrap();
        symlink(place.path("elsewhere"), place.path("paper").join(name)).unwrap();
        place.refuses("papers run lan-queues --cell droptail.udp.3 --out paper", "symbolic link");
    }
    assert_eq!((place.read("target.json"), all(&place.path("elsewhere"))), ("mine".into(), Vec::new()));
    // A link that the user sets as the output folder is followed.
    symlink(place.path("elsewhere"), place.path("link")).unwrap();
    place.does("run voice.toml --out link");
    assert!(place.path("elsewhere/summary.json").exists());
}

#[test]
fn a_truncated_or_edited_record_is_run_again_with_a_note() {
    let place = Place::new();
    place.does("run sweep.toml --out sweep --trace ns2");
    let runs = ["20ms", "30ms"].map(|interval| place.path(&format!("sweep/interval={interval}")));
    let again = "run sweep.toml --out sweep --trace ns2";
    assert!(place.does(again).contains("3 of 3 runs reused"), "nothing was changed");
    let whole = all(&runs[0]);
    for name in ["series.arrow", "events.arrow", "summary.json", "trace.tr", "scenario.toml"] {
        let file = runs[0].join(name);
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        let notes = place.does(again);
        assert!(notes.contains("2 of 3 runs reused"), "{name}: {notes}");
        assert!(notes.contains("1 run again because their files were damaged or changed: sweep"), "{name}: {notes}");
        let timing = |files: Vec<(PathBuf, Vec<u8>)>| {
            files.into_iter().filter(|(path, _)| !path.ends_with("timing.json")).collect::<Vec<_>>()
        };
        assert_eq!(timing(all(&runs[0])), timing(whole.clone()), "{name}");
    }
    // Only the checksum detects a valid number that was changed.
    let summary = runs[1].join("summary.json");
    fs::write(&summary, fs::read_to_string(&summary).unwrap().replacen("\"sent_packets\": ", "\"sent_packets\": 9", 1))
        .unwrap();
    assert!(place.does(again).contains("2 of 3 runs reused"));
}

#[test]
fn an_edited_vary_reuses_its_runs_and_reports_stale_ones() {
    let place = Place::new();
    place.does("run sweep.toml --out sweep");
    let edited = place.read("sweep.toml").replace("\"20ms\", \"30ms\"", "\"50ms\", \"30ms\"");
    place.write("sweep.toml", &edited);
    let notes = place.does("run sweep.toml --out sweep");
    assert!(notes.contains("2 of 3 runs reused"), "{notes}");
    assert!(
        notes.contains("sweep also holds records that are not of this sweep (1)") && notes.contains("interval=20ms"),
        "{notes}"
    );
    // Stale records in the folder of a sweep are not drawn.
    for records in ["sweep", "sweep/interval=20ms sweep/interval=30ms sweep/interval=40ms sweep/interval=50ms"] {
        let notes = place.does(&format!("plot {records} --out pictures"));
        let drawn = place.read("pictures/throughput.svg");
        for (interval, is_there) in [("20ms", false), ("30ms", true), ("40ms", true), ("50ms", true)] {
            // The only key that differs is the legend's heading.
            assert_eq!(drawn.contains(&format!("\n{interval}\n")), is_there, "{interval} of {records}");
        }
        assert_eq!(notes.contains("sweep/interval=20ms is ignored"), records != "sweep", "{notes}");
    }
    place.refuses("plot sweep/interval=20ms", "there are no records to draw");
}

/// Also checks a file in the parent folder of the scenario, which is not copied to the record.
#[test]
fn a_run_with_an_edited_input_file_is_run_again() {
    let place = Place::new();
    let losses = |name: &str| {
        let voice = VOICE
            .replace("delay = \"5ms\"", &format!("delay = \"5ms\"\nloss = {{ kind = \"trace\", file = \"{name}\" }}"));
        format!("{voice}[vary]\n\"flow[0].source.interval\" = [\"20ms\", \"30ms\"]\n")
    };
    place.write("below/same.toml", &losses("some.txt"));
    place.write("below/above.toml", &losses("../some.txt"));
    for (scenario, trace) in [("same", "below/some.txt"), ("above", "some.txt")] {
        let run = format!("run below/{scenario}.toml --out {scenario}");
        place.write(trace, "0\n0\n0\n");
        assert!(!place.does(&run).contains("reused"));
        assert!(place.does(&run).contains("2 of 2 runs reused"));
        place.write(trace, "0\n1\n0\n");
        let before = place.read(&format!("{scenario}/interval=20ms/summary.json"));
        assert!(!place.does(&run).contains("reused"), "{scenario}");
        assert_ne!(before, place.read(&format!("{scenario}/interval=20ms/summary.json")));
    }
}

#[test]
fn only_one_of_several_runs_writes_to_a_new_folder() {
    let place = Place::new();
    place.write("short.toml", &VOICE.replace("1s", "0.1s"));
    for round in 0..40 {
        let run = |_| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
            command.current_dir(place.0.path()).args(["run", "short.toml", "--quiet", "--out", &format!("out{round}")]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        };
        let ended = (0..6).map(run).collect::<Vec<_>>().into_iter().map(|child| child.wait_with_output().unwrap());
        let mut done = 0;
        for ran in ended {
            let messages = text(&ran.stderr);
            done += usize::from(ran.status.success());
            assert!(
                ran.status.success() || messages.contains("another headway is writing into this folder"),
                "{messages}"
            );
        }
        assert!(done > 0, "no run succeeded");
    }
}

/// A program that was killed at its start leaves an empty marker.
#[test]
fn an_empty_marker_is_accepted_in_an_empty_folder_only() {
    let place = Place::new();
    place.write("fresh/.headway", "");
    place.does("run voice.toml --out fresh");
    place.write("mine/.headway", "");
    place.write("mine/notes.txt", "mine");
    place.refuses("run voice.toml --out mine", "its file .headway was not written by Headway");
}

#[test]
fn a_damaged_list_of_runs_is_an_error() {
    let place = Place::new();
    place.does("run sweep.toml --out sweep");
    place.write("sweep/runs.json", "garbage");
    place.refuses("plot sweep", "sweep/runs.json: this is not a list of runs written by `headway run`");
    // A single run can be drawn, and so can a record with another file of this name.
    place.does("plot sweep/interval=20ms");
    place.does("run voice.toml --out record");
    place.write("record/runs.json", "mine");
    place.does("plot record");
    place.does("run sweep.toml --out sweep");
    place.does("plot sweep");
}

#[test]
fn scenarios_of_different_names_have_different_folders() {
    let place = Place::new();
    let names = ["plain", "ü", "ö", "..", "a b", "a_b", "a:b"];
    for name in names {
        place.write("named.toml", &format!("name = \"{name}\"\n{VOICE}"));
        place.does("run named.toml");
    }
    let folders: Vec<String> = fs::read_dir(place.path("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(folders.len(), names.len(), "{folders:?}");
    assert!(["plain", "a_b"].iter().all(|name| folders.iter().any(|folder| folder == name)), "{folders:?}");
    assert!(folders.iter().all(|folder| folder.is_ascii()), "{folders:?}");
}

#[test]
fn a_record_without_checksums_or_timing_is_run_again_with_a_note() {
    let place = Place::new();
    place.does("run sweep.toml --out sweep");
    let notes = "1 run again because their files were damaged or changed: sweep/interval=20ms";
    let first = |name: &str| place.path("sweep/interval=20ms").join(name);
    for (name, bytes) in
        [("checksums.txt", None), ("checksums.txt", Some("garbage")), ("timing.json", None), ("timing.json", Some("{"))]
    {
        match bytes {
            None => fs::remove_file(first(name)).unwrap(),
            Some(bytes) => fs::write(first(name), bytes).unwrap(),
        }
        let messages = place.does("run sweep.toml --out sweep");
        assert!(messages.contains("2 of 3 runs reused") && messages.contains(notes), "{name} {bytes:?}: {messages}");
    }
    // A killed run is run again without a note.
    let sums = place.read("sweep/interval=20ms/checksums.txt");
    let begun: String =
        sums.lines().filter(|line| line.ends_with("  scenario.toml")).map(|line| format!("{line}\n")).collect();
    fs::write(first("checksums.txt"), begun).unwrap();
    for name in ["summary.json", "timing.json", "series.arrow"] {
        fs::remove_file(first(name)).unwrap();
    }
    let messages = place.does("run sweep.toml --out sweep");
    assert!(messages.contains("2 of 3 runs reused") && !messages.contains("run again"), "{messages}");
}

/// POSIX `open` waits for the writer of a FIFO, and /dev/zero has no end.
#[cfg(unix)]
#[test]
fn input_files_that_are_not_regular_are_refused() {
    let place = Place::new();
    let replace = |name: &str, device: Option<&str>| {
        let _ = fs::remove_file(place.path(name));
        match device {
            Some(device) => std::os::unix::fs::symlink(device, place.path(name)).unwrap(),
            None => assert!(Command::new("mkfifo").arg(place.path(name)).status().unwrap().success()),
        }
    };
    let refused = |words: &str| {
        let ran = place.headway(words);
        let messages = text(&ran.stderr);
        assert!(ran.status.code() == Some(1) && messages.contains("it is not a regular file"), "{words}: {messages}");
    };
    place.does("run voice.toml --out record --set record.series=\"100ms\"");
    for name in ["series.arrow", "summary.json"] {
        for device in [Some("/dev/zero"), None] {
            replace(&format!("record/{name}"), device);
            refused("plot record");
        }
    }
    replace("record/.headway", None);
    refused("run voice.toml --out record");
    refused("plot record");
    fs::remove_file(place.path("record/summary.json")).unwrap();
    assert!(text(&place.headway("plot record").stderr).contains("not a record"));
    place.does("sweep sweep.toml --seeds 2 --out sweep");
    for name in ["journal.txt", "runs.parquet", "checksums.txt"] {
        if place.path("sweep").join(name).exists() {
            replace(&format!("sweep/{name}"), None);
            assert!(place.headway("sweep sweep.toml --seeds 2 --out sweep").status.code().is_some(), "{name}");
        }
    }
    place.write("capacity.toml", &VOICE.replace("rate = \"1Mbps\"", "capacity = \"trace\""));
    replace("trace", None);
    refused("run capacity.toml");
}

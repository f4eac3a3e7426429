//! Compares numbers in README and the book with the files that they are taken from.

use headway_papers::{PAPERS, Paper};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const VALIDATION: &str = "docs/src/validation.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Returns the text of a file with runs of white space replaced by one space.
fn text(path: &str) -> String {
    let text = std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fuzz_targets() -> BTreeSet<String> {
    let manifest: toml::Value =
        toml::from_str(&std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap()).unwrap();
    let bins = manifest["bin"].as_array().unwrap();
    bins.iter().map(|bin| bin["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_page_on_validation_counts_the_fuzz_targets() {
    let stated = format!("{} fuzz targets", fuzz_targets().len());
    assert!(text(VALIDATION).contains(&stated), "{VALIDATION} should contain \"{stated}\"");
}

#[test]
fn the_page_of_fuzzing_lists_every_target() {
    let page = text("docs/src/fuzzing.md");
    let table = page.split_once("## The targets").unwrap().1.split_once("## Every reader").unwrap().0;
    let missing: Vec<String> =
        fuzz_targets().into_iter().filter(|name| !table.contains(&format!("`{name}`"))).collect();
    assert_eq!(missing, [""; 0], "docs/src/fuzzing.md");
}

#[test]
fn the_page_on_validation_counts_the_claims_of_each_paper() {
    let (page, mut total) = (text(VALIDATION), 0);
    for paper in PAPERS {
        let link = format!("[papers/{}](", paper.id);
        let paragraph = page.split_once(&link).unwrap_or_else(|| panic!("{VALIDATION} has no {link}")).1;
        let count = Paper::find(&paper.id).unwrap().claims().unwrap().claims.len();
        let first = paragraph.find(" claims").map(|end| &paragraph[..end + " claims".len()]).unwrap();
        assert!(
            first.ends_with(&format!(" {count} claims")),
            "{}: {VALIDATION} should contain {count} claims",
            paper.id
        );
        total += count;
    }
    assert!(page.contains(&format!("| claims with a verdict | {total} |")), "{VALIDATION}: {total} claims");
    let scorecard = text("docs/src/scorecard.md");
    let all = format!("| all | all | {total} | ");
    let reproduced = scorecard.split(&all).nth(1).unwrap().split(' ').next().unwrap();
    let sentence = format!(" {total} claims with verdicts, {reproduced} of them");
    assert!(text("README.md").contains(&sentence), "README.md: {sentence}");
}

struct Fare {
    link: String,
    queue: String,
    call: String,
    audio: f64,
    pictures: f64,
    download: f64,
    web_p95: f64,
}

fn fares() -> Vec<Fare> {
    let file = std::fs::read_to_string(root().join("bench/fares/fares.csv")).unwrap();
    let mut lines = file.lines();
    // Some names of calls contain a comma and are quoted.
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| head.len() - head.iter().position(|column| *column == name).unwrap();
    let read = |line: &str| {
        let [link, queue, rest] = line.splitn(3, ',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let numbers: Vec<&str> = line.rsplit(',').collect();
        let number = |name: &str| numbers[place(name) - 1].parse().unwrap();
        let call = rest
            .strip_prefix('"')
            .map_or_else(|| rest.split(',').next().unwrap(), |rest| rest.split('"').next().unwrap());
        Fare {
            link: link.to_owned(),
            queue: queue.to_owned(),
            call: call.to_owned(),
            audio: number("audio_pct"),
            pictures: number("pictures_pct"),
            download: number("download_mbps"),
            web_p95: number("web_p95_s"),
        }
    };
    lines.map(read).collect()
}

/// Checks the sentences on the link with an outage, without the long DropTail queue.
#[test]
fn the_page_on_fares_matches_its_file_on_the_outage() {
    let fares: Vec<Fare> =
        fares().into_iter().filter(|fare| fare.link == "outage" && fare.queue != "DropTail long").collect();
    assert_eq!(fares.len(), 7 * 17);
    let range = |of: &dyn Fn(&Fare) -> f64, is_in: &dyn Fn(&Fare) -> bool| {
        let values: Vec<f64> = fares.iter().filter(|fare| is_in(fare)).map(of).collect();
        assert!(!values.is_empty());
        (values.iter().copied().fold(f64::INFINITY, f64::min), values.into_iter().fold(f64::NEG_INFINITY, f64::max))
    };
    let whole = |(least, most): (f64, f64)| format!("{least:.0} to {most:.0} %");
    let audio = |fare: &Fare| fare.audio;
    let pictures = |fare: &Fare| fare.pictures;
    let is_tfrc = |fare: &Fare| {
        ["TFRC, fifo", "CCID 3, fifo", "TFRC, SFDPS2", "CCID 3, SFDPS2", "CCID 3, sure-first"].contains(&&*fare.call)
    };
    let is_fifo = |fare: &Fare| is_tfrc(fare) && fare.call.ends_with("fifo");
    let drops_late = |fare: &Fare| is_tfrc(fare) && !is_fifo(fare);
    let (is_dualpi2, is_cake) = (|fare: &Fare| fare.queue == "DualPI2", |fare: &Fare| fare.queue == "CAKE");
    let is_fair = |fare: &Fare| is_cake(fare) || fare.queue == "FQ-CoDel";
    let tfrc_of_queue =
        |fare: &Fare| fares.iter().find(|other| other.queue == fare.queue && other.call == "TFRC, fifo").unwrap();
    let is_udp = |fare: &Fare| fare.call == "UDP";
    let unfair = |fare: &Fare| is_udp(fare) && !is_fair(fare);
    let slower = range(&|fare| fare.web_p95 / tfrc_of_queue(fare).web_p95, &unfair);
    let less = range(&|fare| 100.0 * (1.0 - fare.download / tfrc_of_queue(fare).download), &unfair);
    let udp_with_cake = range(&pictures, &|fare| is_udp(fare) && is_cake(fare)).0;
    let page = text("docs/src/fares.md");
    for stated in [
        format!("with a `fifo` have {} of the audio", whole(range(&audio, &is_fifo))),
        format!("sure-first they have {}", whole(range(&audio, &|fare| drops_late(fare) && !is_dualpi2(fare)))),
        format!("{} behind DualPI2", whole(range(&audio, &|fare| drops_late(fare) && is_dualpi2(fare)))),
        format!("It has {} of the pictures", whole(range(&pictures, &|fare| is_udp(fare) && !is_cake(fare)))),
        format!("TFRC and CCID 3 have {}", whole(range(&pictures, &|fare| is_tfrc(fare) && !is_cake(fare)))),
        format!(
            "behind CAKE it has {udp_with_cake:.0} % instead of {}",
            whole(range(&pictures, &|fare| is_tfrc(fare) && is_cake(fare)))
        ),
        format!("take {:.1} to {:.1} times as long", slower.0, slower.1),
        format!("gets {:.0} to {:.0} % less", less.0, less.1),
    ] {
        assert!(page.contains(&stated), "docs/src/fares.md should say \"{stated}\"");
    }
}

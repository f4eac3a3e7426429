//! Tests of the program from the command line.

use crate::common::text;
use std::path::Path;
use std::process::{Command, Output};

fn headway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    headway(arguments).output().unwrap()
}

fn scenario(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios").join(name).display().to_string()
}

fn text_of(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn the_scenario_of_a_record_repeats_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (first, second, both) = (path("first"), path("second"), path("both"));
    let ran = run(&["run", &scenario("demo.toml"), "--out", &first, "--seed", "7", "--json", "--trace", "ns2"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let (first_folder, second_folder) = (Path::new(&first), Path::new(&second));
    assert_eq!(text(&ran.stdout), read(first_folder, "summary.json"), "--json prints the summary");
    assert!(read(first_folder, "trace.tr").starts_with("+ "));
    let again = run(&["run", &format!("{first}/scenario.toml"), "--out", &second]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(text(&again.stdout).contains("(seed 7)"));
    for name in ["summary.json", "scenario.toml"] {
        assert_eq!(read(first_folder, name), read(second_folder, name), "{name}");
    }
    let drawn = run(&["plot", &first, &second, "--out", &both]);
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    assert_eq!(text(&drawn.stdout).lines().count(), 15, "five pictures, as SVG, PNG and PDF");
}

/// Distributions are an optional file of a record.
#[test]
fn distributions_are_recorded_and_drawn_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (plain, kept) = (path("plain"), path("kept"));
    let short = ["--set", "duration=8s", "--quiet", "--out"];
    let demo = scenario("demo.toml");
    assert!(run(&[&["run", &demo], &short[..], &[&plain]].concat()).status.success());
    let asked = ["--set", "record.distributions=true"];
    assert!(run(&[&["run", &demo], &asked[..], &short[..], &[&kept]].concat()).status.success());
    assert_eq!(read(Path::new(&plain), "summary.json"), read(Path::new(&kept), "summary.json"));
    assert!(!Path::new(&plain).join("distributions.json").exists());
    assert!(read(Path::new(&kept), "checksums.txt").contains("distributions.json"));
    let refused = run(&["plot", "--kind", "delay-cdf", &plain]);
    assert!(text(&refused.stderr).contains("--set record.distributions=true"), "{}", text(&refused.stderr));
    let drawn = run(&["plot", "--kind", "delay-cdf", "--format", "svg", "--size", "500x400", "--title", "", &kept]);
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    assert_eq!(text(&drawn.stdout).lines().count(), 1);
    let svg = read(Path::new(&kept), "delay-cdf.svg");
    assert!(svg.starts_with("<svg width=\"500\" height=\"400\""));
    for words in ["\nvideo\n", "\ndownload\n", "\nCumulative share of packets\n"] {
        assert!(svg.contains(words), "{words}");
    }
    assert!(!svg.contains("\nOne-way delay of packets that arrived"));
    let drawn =
        run(&["plot", "--metric", "queue", "--metric", "cwnd", "--y-label", "Own words", "--format", "svg", &plain]);
    assert_eq!(text(&drawn.stdout).lines().count(), 2, "{}", text(&drawn.stderr));
    assert!(read(Path::new(&plain), "cwnd.svg").contains("\nOwn words\n"));
    let refused = run(&["plot", "--metric", "rtt", &plain]);
    assert!(
        text(&refused.stderr).contains("--metric rtt: the records have no samples of it"),
        "{}",
        text(&refused.stderr)
    );
    // The next run in the folder removes files of the previous one.
    assert!(run(&[&["run", &demo], &short[..], &[&kept]].concat()).status.success());
    for name in ["distributions.json", "delay-cdf.svg"] {
        assert!(!Path::new(&kept).join(name).exists(), "{name}");
    }
}

#[test]
fn errors_have_messages_and_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lan.toml");
    let wrong = "duration = \"1s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndealy = \"1ms\"\n";
    std::fs::write(&file, wrong).unwrap();
    let file = file.display().to_string();
    for (arguments, part) in [
        (vec!["run", &file], "lan.toml:5:1: link[0]: unknown key \"dealy\"; did you mean \"delay\"?"),
        (vec!["run", "no-such-file.toml"], "cannot read no-such-file.toml"),
        (vec!["run", &file, "--set", "link[0].rate"], "--set link[0].rate"),
        (vec!["plot", "no-such-folder"], "not a record: summary.json is missing"),
    ] {
        let ran = run(&arguments);
        assert_eq!(ran.status.code(), Some(1), "{arguments:?}");
        assert!(text(&ran.stderr).contains(part), "{arguments:?}: {}", text(&ran.stderr));
    }
}

#[test]
fn a_sweep_resumes_and_does_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sweep.toml");
    let ties = std::fs::read_to_string(scenario("ties.toml")).unwrap();
    let vary = "[vary]\n\"link[0].rate\" = [\"2Mbps\", \"1Mbps\"]\nseed = [1, 2]\n";
    std::fs::write(&file, format!("{ties}\n{vary}")).unwrap();
    let file = file.display().to_string();
    let out = |name: &str| folder.path().join(name).display().to_string();
    for (name, jobs) in [("one", "1"), ("four", "4")] {
        assert!(run(&["run", &file, "--out", &out(name), "--jobs", jobs]).status.success());
    }
    let runs = ["rate=2Mbps_seed=1", "rate=2Mbps_seed=2", "rate=1Mbps_seed=1", "rate=1Mbps_seed=2"];
    for name in &runs {
        let [one, four] = ["one", "four"].map(|run| Path::new(&out(run)).join(name));
        assert_eq!(read(&one, "summary.json"), read(&four, "summary.json"));
    }
    // Only a missing record is written again.
    let lost = Path::new(&out("one")).join(runs[0]);
    let kept = Path::new(&out("one")).join(runs[1]).join("timing.json");
    std::fs::remove_file(lost.join("summary.json")).unwrap();
    let before = std::fs::metadata(&kept).unwrap().modified().unwrap();
    assert!(run(&["run", &file, "--out", &out("one")]).status.success());
    assert!(lost.join("summary.json").exists());
    assert_eq!(std::fs::metadata(&kept).unwrap().modified().unwrap(), before);
}

#[test]
fn deterministic_scenarios_have_no_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("in-phase.toml").display().to_string();
    let out = folder.path().join("out").display().to_string();
    let flow = "[[flow]]\nname = \"tcp\"\nfrom = \"a\"\nto = \"b\"\ntransport = { kind = \"tcp-reno\" }\nsource = { kind = \"ftp\" }\n";
    let link = "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"5ms\"\n";
    for (start, identical) in [("\"1ms\"", true), ("{ uniform = [\"0s\", \"0.1s\"] }", false)] {
        let sweep = format!("duration = \"2s\"\n{link}{flow}start = {start}\n[vary]\nseed = [1, 2, 3]\n");
        std::fs::write(&file, sweep).unwrap();
        let ran = run(&["run", &file, "--out", &out]);
        assert!(ran.status.success(), "{}", text_of(&ran));
        let shown = text(&ran.stdout);
        assert_eq!(shown.contains("all seeds gave the same numbers"), identical, "{shown}");
        assert_eq!(shown.contains('±'), !identical, "{shown}");
    }
}

/// ECMA-48: ESC [ 2 J and CSI 2 J clear a terminal.
#[test]
fn control_characters_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let evil = "\u{1b}[2J\u{9b}2J";
    let file = path(&format!("{evil}.toml"));
    std::fs::create_dir_all(path("media")).unwrap();
    std::fs::write(&file, "duration = 1").unwrap();
    std::fs::copy(scenario("demo.toml"), path("demo.toml")).unwrap();
    std::fs::write(path("media/conference.txt"), evil).unwrap();
    let voice = "duration = \"1s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"5ms\"\n[[flow]]\nname = \"f\"\n\
                 from = \"a\"\nto = \"b\"\ntransport = { kind = \"udp\" }\nsource = { kind = \"cbr\", interval = \"20ms\", payload = \"9B\" }\n";
    std::fs::write(path("voice.toml"), voice).unwrap();
    std::fs::write(path("vary.toml"), format!("{voice}[vary]\n\"\\u001b[2J\\u009b2J\" = [1]\n")).unwrap();
    let (out, set) = (path(evil), format!("duration={evil}"));
    for arguments in [
        vec!["run", &file, "--out", &out],
        vec!["run", &path("demo.toml")],
        vec!["run", &path("voice.toml"), "--out", &out],
        vec!["run", &path("voice.toml"), "--out", &out, "--json", "--set", "name=a\u{9b}b"],
        vec!["run", &path("voice.toml"), "--out", &out, "--set", &set],
        vec!["run", &path("voice.toml"), "--out", &out, evil],
        vec!["run", &path("vary.toml"), "--out", &out],
        vec!["plot", &out],
        vec!["plot", evil],
        vec!["queues", &path("voice.toml"), "--flow", evil],
        vec!["papers", "check", evil],
        vec![evil],
    ] {
        let ran = run(&arguments);
        let messages = text_of(&ran);
        // clap removes ESC sequences.
        assert!(messages.contains("\\u009b"), "{arguments:?}: {messages}");
        assert!(messages.chars().all(|c| c == '\n' || !c.is_control()), "{arguments:?}: {messages:?}");
    }
}

/// The first bytes of an MPEG-4 file are those of ISO/IEC 14496-12's `ftyp`, of a Matroska file those of EBML (RFC
/// 8794).
#[test]
fn the_error_of_a_media_file_includes_the_ffprobe_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("demo.toml");
    let demo = std::fs::read_to_string(scenario("demo.toml")).unwrap();
    std::fs::write(&file, demo.replace("media/conference.txt", "my film.mp4")).unwrap();
    for bytes in [&b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2"[..], b"\x1a\x45\xdf\xa3\x01\0\0\0\0\0\0\x23\x42\x86"] {
        std::fs::write(folder.path().join("my film.mp4"), bytes).unwrap();
        let ran = run(&["run", &file.display().to_string()]);
        let line = "ffprobe -v error -show_entries packet=codec_type,stream_index,pts_time,dts_time,size,flags -of compact 'my film.mp4'";
        assert!(text(&ran.stderr).contains(line), "{}", text(&ran.stderr));
    }
}

/// Starts an endless run in `out` and waits until it has started.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a real program is given time to start")]
fn long_run(mut command: Command, out: &Path) -> std::process::Child {
    let shown = out.display().to_string();
    command.args([
        "run",
        &scenario("red.toml"),
        "--out",
        &shown,
        "--set",
        "duration=90000s",
        "--set",
        "record.series=false",
    ]);
    let child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    for _ in 0..200 {
        std::thread::sleep(std::time::Duration::from_millis(50));
        if out.join("checksums.txt").exists() {
            break;
        }
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    child
}

#[cfg(unix)]
fn signal(child: &std::process::Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Opening a named pipe waits for its writer.
#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "the program needs time to open the pipe")]
fn a_signal_ends_a_command_that_waits_for_a_pipe() {
    use std::os::unix::process::ExitStatusExt;
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("trace");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for command in ["run", "sweep"] {
        let mut child = headway(&[command, pipe.to_str().unwrap()]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        signal(&child, "-TERM");
        assert_eq!(child.wait().unwrap().signal(), Some(15), "{command}");
    }
}

#[cfg(unix)]
#[test]
fn a_stopped_run_writes_a_valid_partial_record() {
    let folder = tempfile::tempdir().unwrap();
    // The status is 128 plus the signal number (POSIX, Shell Command Language, 2.8.2).
    for (name, status) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let out = folder.path().join(name);
        // Tests under nohup ignore SIGHUP, and their children inherit that.
        let command = if cfg!(target_os = "linux") {
            let mut fresh = Command::new("env");
            fresh.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_headway")]);
            fresh
        } else {
            headway(&[])
        };
        let mut child = long_run(command, &out);
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(status), "{name}");
        let summary = headway_record::Summary::from_json(&read(&out, "summary.json")).unwrap();
        assert!(!summary.complete);
        assert!(summary.interval.to > 0.0 && summary.interval.to < 90_000.0);
        for flow in &summary.flows {
            assert_eq!(flow.sent_packets, flow.received_packets + flow.lost_packets.total() + flow.in_flight_packets);
        }
    }
}

/// nohup ignores SIGHUP before it starts the program.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::disallowed_methods, reason = "a real program is given time to end")]
fn a_run_under_nohup_ignores_hangups() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_headway")]);
    let mut child = long_run(command, &folder.path().join("out"));
    signal(&child, "-HUP");
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none());
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

/// "a\u{fc}" in ISO 8859-1, "d" in UTF-16 with its mark (RFC 2781), the first bytes of a PNG.
#[test]
fn errors_of_non_utf8_files_include_the_position() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lan.toml");
    let shown = file.display().to_string();
    for (bytes, part) in [
        (&b"# a\nname = \"a\xfc\"\n"[..], "lan.toml:2:10: the byte 0xfc is not UTF-8: save the file as UTF-8 text"),
        (b"\xff\xfed\0", "lan.toml:1:1: this is UTF-16: save the file as UTF-8 text"),
        (b"\xfe\xff\0d", "lan.toml:1:1: this is UTF-16: save the file as UTF-8 text"),
        (b"\x89PNG\r\n\x1a\n", "lan.toml:1:1: the byte 0x89 is not UTF-8: save the file as UTF-8 text"),
        (b"\x7fELF\0\xe0", "lan.toml:1:5: a byte is zero"),
        (b"d\0u\0", "lan.toml:1:2: a byte is zero, as in UTF-16 or in a binary file: save the file as UTF-8 text"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        for command in ["run", "queues"] {
            let ran = run(&[command, &shown]);
            assert_eq!(ran.status.code(), Some(1));
            assert!(text(&ran.stderr).contains(part), "{bytes:?}: {}", text(&ran.stderr));
        }
    }
}

/// Five errors are printed, and the number of further ones.
#[test]
fn failed_connections_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("down.toml").display().to_string();
    let flow = |number: usize| {
        format!(
            "[[flow]]\nname = \"f{number}\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ kind = \"dccp\", ccid = 3 }}\n\
             source = {{ kind = \"cbr\", interval = \"10ms\", payload = \"160B\" }}\n"
        )
    };
    let link = "duration = \"1s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"5ms\"\n\
                loss = { kind = \"bernoulli\", probability = 1 }\n";
    for (flows, more) in [(5, None), (6, Some("1 more connection failed\n")), (8, Some("3 more connections failed\n"))]
    {
        std::fs::write(&path, link.to_owned() + &(0..flows).map(flow).collect::<String>()).unwrap();
        let ran = run(&["run", &path, "--quiet", "--out", &folder.path().join("out").display().to_string()]);
        let shown = text_of(&ran);
        let named = shown
            .lines()
            .filter(|line| line.starts_with('f') && line.contains(": not connected at the end of the run"));
        assert!(ran.status.success() && named.count() == 5, "{shown}");
        assert_eq!(shown.contains(" more connection"), more.is_some(), "{shown}");
        assert!(more.is_none_or(|more| shown.contains(more)), "{shown}");
    }
}

#[test]
fn plot_refuses_ignored_options_and_warns_of_omitted_points() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("out").display().to_string();
    let sets = ["--set", "duration=2s", "--set", "record.distributions=true", "--quiet", "--out", &record];
    let ran = run(&[&["run", &scenario("demo.toml")], &sets[..]].concat());
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    for option in ["--log-x", "--complementary"] {
        let refused = text(&run(&["plot", &record, option]).stderr);
        assert!(refused.contains(&format!("{option} needs --kind delay-cdf")), "{refused}");
    }
    let draw = |options: &[&str]| text(&run(&[&["plot", &record, "--kind", "delay-cdf"], options].concat()).stderr);
    assert_eq!(draw(&["--log-x"]), "");
    let kept = Path::new(&record).join("distributions.json");
    let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(&kept).unwrap()).unwrap();
    json["flows"][0]["one_way_delay_s"]["bins"][0][0] = 0.into();
    std::fs::write(&kept, json.to_string()).unwrap();
    std::fs::remove_file(Path::new(&record).join("checksums.txt")).unwrap();
    let messages = draw(&["--log-x"]);
    assert!(messages.contains("a logarithmic axis cannot show a delay of 0"), "{messages}");
    assert_eq!(draw(&[]), "");
}

#[test]
fn options_without_effect_are_refused() {
    let sweep = ["sweep", &scenario("red.toml")];
    let send = ["send", "127.0.0.1:1", "--insecure"];
    let model = |text| [&send[..], &["--model", text]].concat();
    for (arguments, part) in [
        ([&sweep[..], &["--title", "a"]].concat(), "--plot"),
        ([&sweep[..], &["--font-size", "20"]].concat(), "--plot"),
        ([&send[..], &["--stdin", "--seed", "3"]].concat(), "cannot be used with"),
        (model("kind = \"conference\", lifetme = \"1s\""), "unknown key \"lifetme\""),
        (model("kind = \"cbr\", rate = \"1Mbps\", size = \"1000B\", bogus = 3"), "unknown key \"bogus\""),
        (model("conference"), "expected a kind and its keys"),
    ] {
        let refused = run(&arguments);
        assert!(!refused.status.success(), "{arguments:?}");
        assert!(text(&refused.stderr).contains(part), "{arguments:?}: {}", text(&refused.stderr));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_write_error_of_help_is_a_failure() {
    let full = std::fs::File::create("/dev/full").unwrap();
    let status = headway(&["--help"]).stdout(full).stderr(std::process::Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

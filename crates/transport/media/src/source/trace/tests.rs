use super::*;
use proptest::prelude::*;

const FILM: &str = include_str!("../../../../../../scenarios/media/film.txt");

fn problem(text: &str) -> String {
    Trace::parse(text).unwrap_err().to_string()
}

#[test]
fn a_line_is_a_frame() {
    let trace = Trace::parse(
        "# made by hand\r\n\
         packet|codec_type=video|stream_index=0|pts_time=10.000000|dts_time=10.000000|size=9000|flags=K_\r\n\
         packet|codec_type=audio|stream_index=1|pts_time=9.993500|dts_time=9.993500|size=80|flags=K_|side_data|\r\n\
         \r\n\
         packet|pts_time=10.04|size=1200|codec_type=video|flags=__|side_data|size=7\n\
         packet|codec_type=data|pts_time=N/A|dts_time=10.02|size=5\n",
    )
    .unwrap();
    let frame = |micros, bytes, kind, stream| Frame {
        at: Duration::from_micros(micros),
        bytes: Bytes::new(bytes),
        kind,
        stream,
    };
    assert_eq!(
        trace.frames(),
        [
            frame(0, 80, MediaKind::Audio, 1),
            frame(6_500, 9000, MediaKind::VideoI, 0),
            frame(26_500, 5, MediaKind::Data, 0),
            frame(46_500, 1200, MediaKind::VideoP, 0),
        ]
    );
    // The third video frame would follow the second after 40 ms.
    assert_eq!(trace.period(), Duration::from_micros(86_500));
}

/// Captured at 0, 40, 80, 120 ms and sent as I P B B: P cannot be sent before 120 ms, and the spacing is kept.
#[test]
fn frames_are_sent_in_decoding_order_and_not_before_their_capture() {
    let trace = Trace::parse(
        "packet|codec_type=audio|pts_time=0.000000|dts_time=0.000000|size=80|flags=K_\n\
         packet|codec_type=video|pts_time=0.000000|dts_time=-0.040000|size=9000|flags=K_\n\
         packet|codec_type=video|pts_time=0.120000|dts_time=0.000000|size=3000|flags=__\n\
         packet|codec_type=video|pts_time=0.040000|dts_time=0.040000|size=900|flags=__\n\
         packet|codec_type=video|pts_time=0.080000|dts_time=0.080000|size=800|flags=__\n",
    )
    .unwrap();
    let sent: Vec<_> = trace.frames().iter().map(|f| (f.at.as_nanos() / 1_000_000, f.kind.name())).collect();
    assert_eq!(sent, [(0, "audio"), (80, "video-i"), (120, "video-p"), (160, "video-b"), (200, "video-b")]);
}

#[test]
fn simultaneous_frames_keep_the_order_of_the_file() {
    let text: String = (1..=50).map(|size| format!("packet|codec_type=data|dts_time=1.5|size={size}\n")).collect();
    let trace = Trace::parse(&text).unwrap();
    let sizes: Vec<u64> = trace.frames().iter().map(|frame| frame.bytes.count()).collect();
    assert_eq!(sizes, (1..=50).collect::<Vec<_>>());
    assert_eq!(trace.period(), Duration::ZERO);
}

#[test]
fn without_flags_video_has_no_type_and_empty_frames_are_skipped() {
    let trace = Trace::parse(
        "packet|codec_type=video|dts_time=0|size=10\npacket|codec_type=video|dts_time=1|size=0|flags=K_\n",
    )
    .unwrap();
    assert_eq!(trace.frames().len(), 1);
    assert_eq!(trace.frames()[0].kind, MediaKind::Video);
}

#[test]
fn streams_are_separate_and_fields_of_one_picture_are_not_reordered() {
    let trace = Trace::parse(
        "\u{feff}packet|codec_type=video|stream_index=0|pts_time=9.0|size=1|flags=__\n\
         packet|codec_type=video|stream_index=0|pts_time=9.0|size=2|flags=__\n\
         packet|codec_type=video|stream_index=1|pts_time=1.0|size=3|flags=__\n\
         packet|codec_type=video|stream_index=0|pts_time=8.0|size=4|flags=__\n",
    )
    .unwrap();
    let kinds: Vec<_> = trace.frames().iter().map(|frame| (frame.bytes.count(), frame.kind)).collect();
    let (p, b) = (MediaKind::VideoP, MediaKind::VideoB);
    // Without dts, frames are sent in the order of the file.
    assert_eq!(kinds, [(3, p), (1, p), (2, p), (4, b)]);
}

/// 15 frames/s with times rounded to 1 us by ffprobe, in any order: the next frame is due a fifteenth of a second
/// later.
#[test]
fn the_period_ends_at_the_mean_spacing() {
    let line = |time| format!("packet|codec_type=video|dts_time={time}|size=1\n");
    let trace = Trace::parse(&["0.133333", "0.200000", "0.000000", "0.066667"].map(line).concat()).unwrap();
    assert_eq!(trace.period(), Duration::from_nanos(266_666_667));
}

#[test]
fn the_largest_values_are_read() {
    let text = "packet|codec_type=video|size=16777216|dts_time=-2000000000\n\
                packet|codec_type=video|size=1|dts_time=2000000000|pts_time=-2000000000\n\
                packet|codec_type=video|size=2|dts_time=-2000000000|pts_time=2000000000\n";
    let trace = Trace::parse(text).unwrap();
    assert_eq!(trace.frames()[0].bytes, LARGEST_WRITE);
    assert_eq!(trace.frames()[2].at, Duration::from_secs(4_000_000_000));
    assert_eq!(trace.period(), Duration::from_secs(6_000_000_000));
}

#[test]
fn errors_include_the_line_and_the_expected_value() {
    for (text, part) in [
        ("", "no frame that holds a byte"),
        ("# only words\n\n", "no frame that holds a byte"),
        ("packet|codec_type=video|dts_time=0|size=0", "no frame that holds a byte"),
        ("\n#\nframe|media_type=video", "line 3: \"frame|media_type=video\" is not a packet"),
        ("packet,video,0,0.0,0.0,1234,K_", "line 1: \"packet,video"),
        ("packet|video|0|0.0|0.0|1234|K_", "line 1: the packet has no codec_type"),
        ("packet|codec_type=video|dts_time=0", "the packet has no size"),
        (
            "packet|codec_type=video|size=1|dts_time=0\npacket|codec_type=video|size=1|dts_time=N/A",
            "line 2: the packet has neither",
        ),
        ("packet|codec_type=film|size=1|dts_time=0", "codec_type=film is not one of video, audio"),
        ("packet|codec_type=video|size=-1|dts_time=0", "size=-1 is not a whole number of bytes"),
        ("packet|codec_type=video|size=16777217|dts_time=0", "is not at most 16777216 bytes"),
        ("packet|codec_type=video|size=18446744073709551616|dts_time=0", "is not a whole number of bytes"),
        ("packet|codec_type=video|stream_index=x|size=1|dts_time=0", "stream_index=x is not a whole number"),
        ("packet|codec_type=video|size=1|dts_time=1m", "dts_time=1m is not a time in seconds"),
        ("packet|codec_type=video|size=1|dts_time=--1", "dts_time=--1 is not a time in seconds"),
        ("packet|codec_type=video|size=1|dts_time=1e3", "dts_time=1e3 is not a time in seconds"),
        ("packet|codec_type=video|size=1|dts_time=NaN", "dts_time=NaN is not a time in seconds"),
        ("packet|codec_type=video|size=1|dts_time=", "dts_time= is not a time in seconds"),
        ("packet|codec_type=video|size=1|dts_time=2000000000.1", "is not a time in seconds"),
    ] {
        let message = problem(text);
        assert!(message.contains(part), "{text}: {message}");
    }
    let long = format!("packet|codec_type={}|size=1|dts_time=0", "x".repeat(100_000));
    assert!(problem(&long).len() < 200);
}

#[test]
fn a_text_beyond_the_limit_is_not_read() {
    let text = "#".repeat(Trace::LARGEST_TEXT.count() as usize + 1);
    assert_eq!(Trace::parse(&text).unwrap_err().problem, TraceProblem::TooLong(Bytes::new(67_108_865)));
}

fn any_line() -> impl Strategy<Value = String> {
    let time = prop_oneof![
        (-2_000_000_000i64..2_000_000_000, 0u32..1_000_000).prop_map(|(s, us)| format!("{s}.{us:06}")),
        (0i64..10, 0u32..1_000_000).prop_map(|(s, us)| format!("{s}.{us:06}")),
    ];
    let media = prop_oneof![Just("video"), Just("audio"), Just("data")];
    (media, 0u32..3, time.clone(), time, 0u64..20_000, any::<bool>()).prop_map(|(media, index, pts, dts, size, key)| {
        let flags = if key { "K_" } else { "__" };
        format!(
            "packet|codec_type={media}|stream_index={index}|pts_time={pts}|dts_time={dts}|size={size}|flags={flags}\n"
        )
    })
}

proptest! {
    #[test]
    fn no_text_panics(text in "(packet\\|)?(\\PC|[\\|=\n]){0,80}") {
        let _ = Trace::parse(&text);
    }

    #[test]
    fn no_damage_panics(place in 0usize..8_000, byte: u8, cut in 0usize..9_000) {
        let mut bytes = FILM.as_bytes()[..cut.max(place + 1)].to_vec();
        bytes[place] = byte;
        let _ = Trace::parse(&String::from_utf8_lossy(&bytes));
    }

    /// For any order and times, frames are sent in order from zero on, and the period is at least the last time.
    #[test]
    fn frames_are_in_order(lines in prop::collection::vec(any_line(), 1..60)) {
        let nonempty = lines.iter().filter(|line| !line.contains("size=0|")).count();
        match Trace::parse(&lines.concat()) {
            Err(error) => {
                prop_assert_eq!(nonempty, 0);
                prop_assert_eq!(error.problem, TraceProblem::Empty);
            }
            Ok(trace) => {
                let frames = trace.frames();
                prop_assert_eq!(frames.len(), nonempty);
                prop_assert_eq!(frames[0].at, Duration::ZERO);
                prop_assert!(frames.is_sorted_by_key(|frame| frame.at));
                prop_assert!(trace.period() >= frames[nonempty - 1].at);
            }
        }
    }
}

/// Returns the send time of each frame, in ms after the first, and its bytes.
fn sent(text: &str) -> Vec<(u64, u64)> {
    let trace = Trace::parse(text).unwrap();
    trace.frames().iter().map(|frame| (frame.at.as_nanos() / 1_000_000, frame.bytes.count())).collect()
}

/// ffprobe 5.1.9 of x264 and x265 recordings with B frames, as .mp4 and copied to .mkv, whose first packets have no
/// dts: the schedules are equal.
#[test]
fn a_missing_dts_of_matroska_gives_the_schedule_of_the_mp4() {
    let lines = |times: &[(&str, &str, u64)]| -> String {
        let line = |(pts, dts, size): &(&str, &str, u64)| {
            format!("packet|codec_type=video|stream_index=0|pts_time={pts}|dts_time={dts}|size={size}|flags=__\n")
        };
        times.iter().map(line).collect()
    };
    let mp4 = lines(&[
        ("0.000000", "-0.080000", 4989),
        ("0.120000", "-0.040000", 2089),
        ("0.040000", "0.000000", 1074),
        ("0.080000", "0.040000", 923),
        ("0.240000", "0.080000", 2095),
        ("0.160000", "0.120000", 1218),
    ]);
    let mkv = mp4.replace("-0.080000", "N/A").replace("-0.040000", "N/A");
    assert_eq!(sent(&mkv), [(0, 4989), (40, 2089), (80, 1074), (120, 923), (160, 2095), (200, 1218)]);
    assert_eq!(Trace::parse(&mkv), Trace::parse(&mp4));
    // Without any dts, the schedule is the sorted presentation times.
    let none: String = mp4.lines().map(|line| format!("{}|flags=__\n", line.split("|dts").next().unwrap())).collect();
    assert_eq!(none.lines().count(), 6);
    let sized = none.replace("|flags", "|size=1|flags");
    let at: Vec<u64> = sent(&sized).iter().map(|(at, _)| *at).collect();
    assert_eq!(at, [0, 40, 80, 120, 160, 240], "the picture at 200 ms is not in these six");
    // 30 frames/s, rounded to ms by Matroska, x265 with four B frames.
    let hevc = lines(&[
        ("0.000000", "N/A", 2817),
        ("0.167000", "N/A", 310),
        ("0.100000", "0.000000", 39),
        ("0.033000", "0.033000", 32),
        ("0.067000", "0.067000", 50),
        ("0.133000", "0.100000", 27),
    ]);
    assert_eq!(sent(&hevc), [(0, 2817), (33, 310), (67, 39), (100, 32), (134, 50), (167, 27)]);
}

/// ffprobe 5.1.9 of a .vob: packets of partial frames have no times.
#[test]
fn an_untimed_packet_among_timed_ones_is_reported_with_its_line() {
    let text = "packet|codec_type=video|stream_index=0|pts_time=0.566667|dts_time=0.500000|size=330|flags=K_\n\
                packet|codec_type=video|stream_index=0|pts_time=N/A|dts_time=N/A|size=2497|flags=__\n";
    assert_eq!(
        problem(text),
        "line 2: the packet has neither dts_time nor pts_time, and others have: copy the recording to a file that gives each \
         frame its time (ffmpeg -i FILE -c copy FILE.mp4), and print that"
    );
}

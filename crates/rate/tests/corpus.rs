//! Replays the corpora of the fuzz targets for controllers: what once went wrong, and seeds for the fuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

#[path = "../../../fuzz/check_tcp_like.rs"]
mod check_tcp_like;
#[path = "../../../fuzz/check_tfrc.rs"]
mod check_tfrc;

fn replay(corpus: &str, check: impl Fn(&[u8])) {
    let mut count = 0;
    for line in corpus.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        println!("{line}");
        let digits: Vec<_> = line.chars().filter(|c| !c.is_whitespace()).collect();
        let byte = |pair: &[char]| u8::from_str_radix(&String::from_iter(pair), 16).unwrap();
        check(&digits.chunks(2).map(byte).collect::<Vec<_>>());
        count += 1;
    }
    assert!(count > 4);
}

#[test]
fn tcp_like() {
    replay(include_str!("../../../fuzz/corpus/tcp-like.hex"), check_tcp_like::check);
}

#[test]
fn tfrc() {
    replay(include_str!("../../../fuzz/corpus/tfrc.hex"), check_tfrc::check);
}

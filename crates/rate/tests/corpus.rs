//! Replays `fuzz/corpus/tcp-like.hex`: what once went wrong with TCP-like congestion control, and seeds for the fuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

#[path = "../../../fuzz/check_tcp_like.rs"]
mod check_tcp_like;

#[test]
fn nothing_in_the_corpus_goes_wrong() {
    let corpus = include_str!("../../../fuzz/corpus/tcp-like.hex");
    let mut count = 0;
    for line in corpus.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        println!("{line}");
        let digits: Vec<_> = line.chars().filter(|c| !c.is_whitespace()).collect();
        let byte = |pair: &[char]| u8::from_str_radix(&String::from_iter(pair), 16).unwrap();
        check_tcp_like::check(&digits.chunks(2).map(byte).collect::<Vec<_>>());
        count += 1;
    }
    assert!(count > 5);
}

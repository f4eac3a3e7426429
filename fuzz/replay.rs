//! Reads a corpus: one input per line, in hexadecimal; `#` begins a comment.

/// Checks every input, of which there are at least `least`.
pub(crate) fn replay(corpus: &str, least: usize, check: impl Fn(&[u8])) {
    let mut count = 0;
    for line in corpus.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        println!("{line}");
        let digits: Vec<_> = line.chars().filter(|c| !c.is_whitespace()).collect();
        let byte = |pair: &[char]| u8::from_str_radix(&String::from_iter(pair), 16).expect("a corpus is hex");
        check(&digits.chunks(2).map(byte).collect::<Vec<_>>());
        count += 1;
    }
    assert!(count >= least, "the corpus has {count} inputs");
}

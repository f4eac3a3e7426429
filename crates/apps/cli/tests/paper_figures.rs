//! The figures of the gallery in the style of papers: vector graphics with fonts, legible without color.

use crate::common::{headway, text};
use flate2::read::ZlibDecoder;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Heading of the section of the gallery with these figures.
const SECTION: &str = "\n## In the style of papers\n";

/// Smallest difference of two colors that can be distinguished easily, as the distance in CIELAB (CIE 1976). Colors
/// with a difference of 2 can hardly be distinguished.
const DELTA_E: f64 = 20.0;

/// Strokes of axes, ticks and grids, and of text.
const FRAME: [&str; 3] = ["#666666", "#E6E6E6", "#222222"];

type Matrix = [[f64; 3]; 3];

/// Ways to see linear RGB: luminance (ITU-R BT.709), and deuteranopia and protanopia by the matrices of severity 1.0 of
/// Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (IEEE
/// Transactions on Visualization and Computer Graphics 15(6), 2009).
const VISIONS: [(&str, Matrix); 3] = [
    ("grayscale", [[0.2126, 0.7152, 0.0722]; 3]),
    (
        "deuteranopia",
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ),
    ("protanopia", [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
];

/// Linear RGB to CIE XYZ, of sRGB (IEC 61966-2-1), and the white of D65.
const XYZ: Matrix =
    [[0.412_456, 0.357_576, 0.180_437], [0.212_673, 0.715_152, 0.072_175], [0.019_334, 0.119_192, 0.950_304]];
const WHITE: [f64; 3] = [0.950_47, 1.0, 1.088_83];

/// A color, from 0 to 1 in each channel of sRGB.
type Color = [f64; 3];

/// Look of a line of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Look<'a> {
    /// Color on white paper.
    color: Color,
    dashes: &'a str,
}

/// A tag of an SVG.
#[derive(Clone, Copy)]
struct Tag<'a>(&'a str);

impl<'a> Tag<'a> {
    fn all(svg: &'a str) -> impl Iterator<Item = Self> {
        svg.split('<').filter_map(|part| part.split_once('>')).map(|(tag, _)| Self(tag))
    }

    fn is(self, name: &str) -> bool {
        self.0.split(' ').next() == Some(name)
    }

    fn get(self, attribute: &str) -> &'a str {
        self.0.split_once(&format!(" {attribute}=\"")).and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default()
    }
}

fn multiplied(matrix: &Matrix, vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
}

/// Returns the CIELAB coordinates of a color as seen.
fn lab(color: Color, vision: &Matrix) -> [f64; 3] {
    let linear = color.map(|c| if c <= 0.040_45 { c / 12.92 } else { libm::pow((c + 0.055) / 1.055, 2.4) });
    let seen = multiplied(vision, linear).map(|c| c.clamp(0.0, 1.0));
    let xyz = multiplied(&XYZ, seen);
    let cube = |t: f64| if t > 216.0 / 24_389.0 { libm::cbrt(t) } else { (24_389.0 / 27.0 * t + 16.0) / 116.0 };
    let [x, y, z] = [0, 1, 2].map(|at| cube(xyz[at] / WHITE[at]));
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn delta_e(a: Color, b: Color, vision: &Matrix) -> f64 {
    let (a, b) = (lab(a, vision), lab(b, vision));
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Returns the color of `#RRGGBB` with an opacity on white paper.
fn color(hex: &str, opacity: f64) -> Color {
    [1, 3, 5].map(|at| {
        let channel = u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        1.0 - opacity * (1.0 - f64::from(channel) / 255.0)
    })
}

/// Returns whether a tag is the line of a series. Error bars and ticks have two points, and boxes, which differ in their
/// marks, end where they begin.
fn is_line(tag: &Tag<'_>) -> bool {
    let points: Vec<&str> = tag.get("points").split_whitespace().collect();
    tag.is("polyline") && !FRAME.contains(&tag.get("stroke")) && points.len() > 2 && points.first() != points.last()
}

/// Returns the looks of the lines of a figure.
fn looks(svg: &str) -> Vec<Look<'_>> {
    let mut looks: Vec<Look<'_>> = Vec::new();
    for line in Tag::all(svg).filter(is_line) {
        let opacity = line.get("opacity").parse().unwrap_or(1.0);
        let look = Look { color: color(line.get("stroke"), opacity), dashes: line.get("stroke-dasharray") };
        if !looks.contains(&look) {
            looks.push(look);
        }
    }
    looks
}

/// Returns why two looks, or a look and the paper, are too similar; `None` if they are not.
fn similarity(a: Look<'_>, b: Look<'_>) -> Option<String> {
    if a.dashes != b.dashes {
        return None;
    }
    let too_small = |(name, vision): &(&str, Matrix)| {
        let difference = delta_e(a.color, b.color, vision);
        (difference < DELTA_E).then(|| format!("{name}: a difference of {difference:.1} between {a:?} and {b:?}"))
    };
    VISIONS.iter().find_map(too_small)
}

/// Asserts that the lines of a figure differ from each other and from white paper.
fn assert_legible(name: &str, svg: &str) {
    let looks = looks(svg);
    for (number, look) in looks.iter().enumerate() {
        let paper = Look { color: [1.0; 3], ..*look };
        for other in looks[..number].iter().chain([&paper]) {
            assert_eq!(similarity(*look, *other), None, "{name}");
        }
    }
}

/// Asserts that the colors of the scale of a heat map become steadily darker, from near white to near black.
fn assert_scale_is_legible(name: &str, svg: &str) {
    let strips: Vec<(&str, f64, Color)> = Tag::all(svg)
        .filter(|tag| tag.is("rect") && tag.get("fill").starts_with('#'))
        .map(|tag| (tag.get("x"), tag.get("y").parse().unwrap(), color(tag.get("fill"), 1.0)))
        .collect();
    let columns: BTreeSet<&str> = strips.iter().map(|(x, ..)| *x).collect();
    let column = |x: &str| strips.iter().filter(|(at, ..)| *at == x).collect::<Vec<_>>();
    let mut scale = columns.into_iter().map(column).max_by_key(Vec::len).unwrap();
    assert!(scale.len() > 30, "{name}: {}", scale.len());
    scale.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (vision, matrix) in &VISIONS {
        let lightness: Vec<f64> = scale.iter().map(|(.., color)| lab(*color, matrix)[0]).collect();
        assert!(lightness.windows(2).all(|pair| pair[1] < pair[0]), "{name}, {vision}: {lightness:?}");
        assert!(lightness[0] - lightness[lightness.len() - 1] > 60.0, "{name}, {vision}: {lightness:?}");
    }
}

/// Returns the decoded streams of a PDF.
fn streams(pdf: &[u8]) -> Vec<Vec<u8>> {
    let find = |from: usize, word: &[u8]| pdf[from..].windows(word.len()).position(|at| at == word).map(|at| from + at);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(begin) = find(from, b"\nstream\n").map(|at| at + b"\nstream\n".len()) {
        let end = find(begin, b"endstream").unwrap();
        let mut decoded = Vec::new();
        if ZlibDecoder::new(&pdf[begin..end]).read_to_end(&mut decoded).is_err() {
            decoded = pdf[begin..end].to_vec();
        }
        found.push(decoded);
        from = end;
    }
    found
}

/// Asserts that a PDF has text in an embedded font and curves as paths, and no pixels.
fn assert_is_vector_graphics(name: &str, pdf: &[u8]) {
    let objects = String::from_utf8_lossy(pdf);
    assert!(objects.contains("/FontFile"), "{name}: no font is embedded");
    assert!(objects.contains("/ToUnicode"), "{name}: the text cannot be selected");
    assert!(!objects.contains("/Image") && !objects.contains("/XObject"), "{name}: it has pixels");
    let streams = streams(pdf);
    let texts: Vec<_> = streams.iter().map(|stream| String::from_utf8_lossy(stream)).collect();
    let content = texts.iter().find(|text| text.split_whitespace().any(|word| word == "BT")).unwrap();
    let count = |operators: &[&str]| content.split_whitespace().filter(|word| operators.contains(word)).count();
    assert!(count(&["Tj", "TJ"]) > 5, "{name}: texts");
    assert!(count(&["m"]) > 5 && count(&["l", "c"]) > 50, "{name}: paths");
    assert!(count(&["S", "f", "f*", "B"]) > 5, "{name}: strokes and fills");
    assert_eq!(count(&["Do", "BI", "ID"]), 0, "{name}: images");
    assert!(texts.iter().any(|text| text.contains("beginbf")), "{name}: characters of glyphs");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Splits a command into words; single quotes enclose words with spaces.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for character in command.chars() {
        match character {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words
}

fn file(folder: &Path, ending: &str) -> PathBuf {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    assert_eq!(found.len(), 1, "{}: {found:?}", folder.display());
    found.remove(0)
}

#[test]
fn the_five_figures_in_the_style_of_papers_need_no_redrawing() {
    let gallery = std::fs::read_to_string(root().join("docs/src/gallery.md")).unwrap();
    let (_, section) = gallery.split_once(SECTION).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().to_str().unwrap();
    for command in section.lines().filter_map(|line| line.strip_prefix("$ headway ")) {
        let words: Vec<String> = words(command).into_iter().map(|word| word.replace("out/gallery", out)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = headway(&words).current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("warning"), "{command}: {}", text(&output.stderr));
    }
    let pictures = section.lines().filter_map(|line| line.split_once("(pictures/gallery/")?.1.strip_suffix(".svg)"));
    let names: Vec<&str> = pictures.collect();
    assert_eq!(names.len(), 5, "{names:?}");
    for name in names {
        let folder = place.path().join(name);
        assert_is_vector_graphics(name, &std::fs::read(file(&folder, "pdf")).unwrap());
        let svg = std::fs::read_to_string(file(&folder, "svg")).unwrap();
        if looks(&svg).len() > 1 {
            assert_legible(name, &svg);
        } else {
            assert_scale_is_legible(name, &svg);
        }
    }
}

/// The pictures of the gallery that are stored, too.
#[test]
fn lines_of_the_gallery_are_legible() {
    let folder = root().join("docs/src/pictures/gallery");
    let mut several = 0;
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let svg = std::fs::read_to_string(&path).unwrap();
        several += usize::from(looks(&svg).len() > 1);
        assert_legible(&path.display().to_string(), &svg);
    }
    assert!(several > 10, "{several} figures with several lines");
}

/// Gray stays gray for all visions, and colors that differ in hue only are not distinct without dashes.
#[test]
fn differences_are_those_of_the_visions() {
    for (name, matrix) in &VISIONS {
        let [lightness, a, b] = lab([0.5; 3], matrix);
        assert!((lightness - 53.4).abs() < 0.1 && a.abs() < 0.1 && b.abs() < 0.1, "{name}: {lightness} {a} {b}");
        assert!((delta_e([0.0; 3], [1.0; 3], matrix) - 100.0).abs() < 0.1, "{name}");
    }
    let [orange, blue] = ["#E69F00", "#56B4E9"].map(|hex| Look { color: color(hex, 1.0), dashes: "" });
    assert!(similarity(orange, blue).is_some_and(|reason| reason.starts_with("grayscale")));
    assert_eq!(similarity(orange, Look { dashes: "4 4", ..blue }), None);
    // Red and green of equal luminance differ for most readers, but not with deuteranopia.
    let [red, green] = ["#C05000", "#708000"].map(|hex| color(hex, 1.0));
    let normal = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    assert!(delta_e(red, green, &normal) > 2.0 * delta_e(red, green, &VISIONS[1].1));
    assert_eq!(words("plot 'a b' --x ''"), ["plot", "a b", "--x", ""]);
}

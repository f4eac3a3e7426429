//! `headway plot`: draws charts of records.

use crate::arguments::{PlotFormat, PlotKind, PlotLegend, PlotOptions, StyleOptions};
use crate::error::Failure;
use crate::output;
use headway_record::plot::{
    Figure, LegendPlace, Run, RunDelays, Style, XAxis, delay_chart, figures, frame_chart, is_drawable,
};
use headway_record::{SeriesTable, Summary};
use headway_run::{Folder, listed};
use headway_units::counted;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Scale of PNG files relative to SVG files.
pub(crate) const SCALE: f32 = 2.0;

pub(crate) fn plot(options: &PlotOptions) -> Result<(), Failure> {
    let records = records(&options.records)?;
    let style = style(&options.style);
    let figures = match options.kind {
        PlotKind::Series => series(&records, options, &style)?,
        PlotKind::DelayCdf | PlotKind::Frames => delays(&records, options, &style)?,
    };
    write(&figures, options)
}

/// Returns the charts of time series, or those of `--metric`.
fn series(records: &[Folder], options: &PlotOptions, style: &Style) -> Result<Vec<Figure>, Failure> {
    if options.log_x || options.complementary {
        let option = if options.log_x { "--log-x" } else { "--complementary" };
        return Err(Failure::Plot(format!("{option} needs --kind delay-cdf or --kind frames")));
    }
    let mut all = Vec::with_capacity(records.len());
    for (folder, label) in records.iter().zip(labels(records)) {
        let (series, from) = read(folder)?;
        let samples = series.iter().flat_map(|(.., samples)| samples);
        let omitted = samples.filter(|(_, value)| !is_drawable(*value)).count() as u64;
        if omitted > 0 {
            let samples = counted(omitted, "sample");
            output::note(&format!("warning: {label}: the charts omit {samples} (not a number, or above 10^15)"));
        }
        all.push((label, (series, from)));
    }
    let runs: Vec<_> = all.iter().map(|(label, (series, from))| Run { label, series, from: *from }).collect();
    let mut figures = figures(&runs, style).map_err(|error| Failure::Plot(error.to_string()))?;
    if let Some(none) = options.metrics.iter().find(|name| figures.iter().all(|figure| figure.name != **name)) {
        return Err(Failure::Plot(format!("--metric {none}: the records have no samples of it")));
    }
    figures.retain(|figure| options.metrics.is_empty() || options.metrics.contains(&figure.name));
    Ok(figures)
}

/// Returns the chart of packet or frame delays.
fn delays(records: &[Folder], options: &PlotOptions, style: &Style) -> Result<Vec<Figure>, Failure> {
    if !options.metrics.is_empty() {
        return Err(Failure::Plot("--metric applies to --kind series only; remove --metric or --kind".to_owned()));
    }
    let mut all = Vec::with_capacity(records.len());
    for (folder, label) in records.iter().zip(labels(records)) {
        check_record(folder)?;
        if !folder.path(Folder::DISTRIBUTIONS).exists() {
            let reason =
                "the record has no distributions; run the scenario again with `--set record.distributions=true`";
            return Err(Failure::record(folder.0.clone(), reason));
        }
        all.push((label, folder.distributions()?));
    }
    let runs: Vec<_> = all.iter().map(|(label, kept)| RunDelays { label, distributions: kept }).collect();
    let x = if options.log_x { XAxis::Logarithm } else { XAxis::Numbers };
    let x_label = style.x_title.as_deref();
    let (chart, error) = match options.kind {
        PlotKind::Frames => (frame_chart(&runs, x, options.complementary, x_label), "no flow has frames"),
        _ => (delay_chart(&runs, x, options.complementary, x_label), "no packet arrived"),
    };
    let chart = chart.ok_or_else(|| Failure::Plot(error.to_owned()))?;
    let omitted = chart.omitted_points() as u64;
    if omitted > 0 {
        let points = counted(omitted, "point");
        output::note(&format!("warning: the chart omits {points}: a logarithmic axis cannot show a delay of 0"));
    }
    Ok(vec![chart.draw_styled(style).map_err(|error| Failure::Plot(error.to_string()))?])
}

fn write(figures: &[Figure], options: &PlotOptions) -> Result<(), Failure> {
    let out = Folder::named(options.out.as_ref().unwrap_or(&options.records[0]));
    let _lock = out.claim_for_pictures()?;
    let wanted = |format: PlotFormat| options.formats.is_empty() || options.formats.contains(&format);
    let put = |figure: &Figure, ending: &str, bytes: &[u8]| {
        let name = format!("{}.{ending}", figure.name);
        out.write(&name, bytes)?;
        output::text(&out.path(&name).display().to_string())
    };
    for figure in figures {
        if wanted(PlotFormat::Svg) {
            put(figure, "svg", figure.svg.as_bytes())?;
        }
        if wanted(PlotFormat::Png) {
            put(figure, "png", &figure.to_png(SCALE).map_err(|error| Failure::Plot(error.to_string()))?)?;
        }
    }
    Ok(())
}

pub(crate) fn style(options: &StyleOptions) -> Style {
    Style {
        title: options.title.clone(),
        x_title: options.x_label.clone(),
        y_title: options.y_label.clone(),
        width: options.size.map_or(Style::default().width, |size| size.width),
        height: options.size.map(|size| size.height),
        font_size: options.font_size,
        legend: match options.legend {
            PlotLegend::Outside => LegendPlace::Right,
            PlotLegend::Below => LegendPlace::Below,
            PlotLegend::None => LegendPlace::Hidden,
        },
    }
}

/// Returns the records in these folders. The folder of a sweep is replaced by its complete runs; other records in it
/// are ignored.
pub(crate) fn records(paths: &[PathBuf]) -> Result<Vec<Folder>, Failure> {
    let mut records = Vec::new();
    for path in paths {
        let folder = Folder(path.clone());
        if let Some(runs) = listed(&folder)? {
            let all = runs.len();
            let complete: Vec<Folder> = runs.into_iter().filter(|run| run.path(Folder::SUMMARY).exists()).collect();
            if complete.len() < all {
                output::note(&format!("warning: {}: {} of {all} runs are complete", path.display(), complete.len()));
            }
            records.extend(complete);
        } else if is_stale(path) {
            output::note(&format!(
                "warning: {} is ignored: it is no run of the sweep in its folder; move it to another folder to draw it",
                path.display()
            ));
        } else {
            records.push(folder);
        }
    }
    if records.is_empty() {
        return Err(Failure::Plot("there are no records to draw".to_owned()));
    }
    Ok(records)
}

/// Returns whether the record is in the folder of a sweep that does not include it.
fn is_stale(record: &Path) -> bool {
    let Ok(record) = record.canonicalize() else { return false };
    // The parent folder may belong to another program. Errors of its list of runs do not matter here.
    let sweep = record.parent().and_then(|parent| listed(&Folder(parent.to_owned())).ok().flatten());
    sweep.is_some_and(|runs| runs.iter().all(|run| run.0 != record))
}

/// Returns the time series of a record and the start of its measured interval, in s.
pub(crate) fn read(record: &Folder) -> Result<(SeriesTable, f64), Failure> {
    check_record(record)?;
    let wrong = |reason: &str| Failure::record(record.0.clone(), reason);
    if !record.path(Folder::SERIES).exists() {
        return Err(wrong("the record has no time series; set `[record] series = \"100ms\"` in the scenario"));
    }
    let summary = String::from_utf8_lossy(&record.read(Folder::SUMMARY)?).into_owned();
    let summary = Summary::from_json(&summary).map_err(|error| wrong(&error.to_string()))?;
    Ok((record.series()?, summary.interval.from))
}

pub(crate) fn check_record(folder: &Folder) -> Result<(), Failure> {
    if folder.path(Folder::SUMMARY).exists() {
        return Ok(());
    }
    if folder.is_record() {
        let reason = if folder.is_claimed() {
            "the run is still in progress"
        } else {
            "the run was killed before it wrote a summary; run it again"
        };
        return Err(Failure::record(folder.0.clone(), reason));
    }
    Err(Failure::record(
        folder.0.clone(),
        "not a record: summary.json is missing; expected a folder written by `headway run`",
    ))
}

/// Returns the names of the records for legends: folder names, or full paths if two folders have the same name.
pub(crate) fn labels(records: &[Folder]) -> Vec<String> {
    let names: Vec<String> = records.iter().map(|folder| label(&folder.0)).collect();
    let distinct: BTreeSet<&String> = names.iter().collect();
    if distinct.len() == names.len() {
        names
    } else {
        records.iter().map(|folder| folder.0.display().to_string()).collect()
    }
}

fn label(folder: &Path) -> String {
    let canonical = folder.canonicalize();
    let named = canonical.as_deref().unwrap_or(folder);
    named.file_name().map_or_else(|| named.display().to_string(), |name| name.to_string_lossy().into_owned())
}

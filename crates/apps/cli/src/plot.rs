//! `headway plot`: records to pictures.

use crate::arguments::{LookOptions, PlotFormat, PlotKind, PlotLegend, PlotOptions};
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

/// Pixels a point, so that a picture fills a page.
pub(crate) const SCALE: f32 = 2.0;

pub(crate) fn plot(options: &PlotOptions) -> Result<(), Failure> {
    let records = chosen(&options.records)?;
    let style = style(&options.look);
    let figures = match options.kind {
        PlotKind::Series => series(&records, options, &style)?,
        PlotKind::DelayCdf | PlotKind::Frames => delays(&records, options, &style)?,
    };
    write(&figures, options)
}

/// Every picture over time, or those that were asked for.
fn series(records: &[Folder], options: &PlotOptions, style: &Style) -> Result<Vec<Figure>, Failure> {
    if options.log_x || options.complementary {
        let option = if options.log_x { "--log-x" } else { "--complementary" };
        return Err(Failure::Plot(format!("{option} is of delays: write --kind delay-cdf or --kind frames too")));
    }
    let mut all = Vec::with_capacity(records.len());
    for (folder, label) in records.iter().zip(labels(records)) {
        let (series, from) = read(folder)?;
        let samples = series.iter().flat_map(|(.., samples)| samples);
        let left_out = samples.filter(|(_, value)| !is_drawable(*value)).count() as u64;
        if left_out > 0 {
            let samples = counted(left_out, "sample");
            output::note(&format!("warning: {label}: the pictures leave out {samples}: not a number, or beyond 10^15"));
        }
        all.push((label, (series, from)));
    }
    let runs: Vec<_> = all.iter().map(|(label, (series, from))| Run { label, series, from: *from }).collect();
    let mut figures = figures(&runs, style).map_err(|error| Failure::Plot(error.to_string()))?;
    if let Some(none) = options.metrics.iter().find(|name| figures.iter().all(|figure| figure.name != **name)) {
        return Err(Failure::Plot(format!("there are no samples for the picture \"{none}\"")));
    }
    figures.retain(|figure| options.metrics.is_empty() || options.metrics.contains(&figure.name));
    Ok(figures)
}

/// How long packets or frames took.
fn delays(records: &[Folder], options: &PlotOptions, style: &Style) -> Result<Vec<Figure>, Failure> {
    if !options.metrics.is_empty() {
        return Err(Failure::Plot("--metric chooses pictures of the series: leave it out, or --kind".to_owned()));
    }
    let mut all = Vec::with_capacity(records.len());
    for (folder, label) in records.iter().zip(labels(records)) {
        is_record(folder)?;
        if !folder.path(Folder::DISTRIBUTIONS).exists() {
            let reason = "the run has kept no distributions; run it again with `--set record.distributions=true`";
            return Err(Failure::record(folder.0.clone(), reason));
        }
        all.push((label, folder.distributions()?));
    }
    let runs: Vec<_> = all.iter().map(|(label, kept)| RunDelays { label, kept }).collect();
    let x = if options.log_x { XAxis::Logarithm } else { XAxis::Numbers };
    let x_label = style.x_title.as_deref();
    let (chart, nothing) = match options.kind {
        PlotKind::Frames => (frame_chart(&runs, x, options.complementary, x_label), "no flow has frames"),
        _ => (delay_chart(&runs, x, options.complementary, x_label), "no packet has arrived"),
    };
    let chart = chart.ok_or_else(|| Failure::Plot(nothing.to_owned()))?;
    let left_out = chart.left_out() as u64;
    if left_out > 0 {
        let points = counted(left_out, "point");
        output::note(&format!(
            "warning: the picture leaves out {points}: a logarithmic axis has no place for a delay of 0"
        ));
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

pub(crate) fn style(look: &LookOptions) -> Style {
    Style {
        title: look.title.clone(),
        x_title: look.x_label.clone(),
        y_title: look.y_label.clone(),
        width: look.size.map_or(Style::default().width, |size| size.width),
        height: look.size.map(|size| size.height),
        font_size: look.font_size,
        legend: match look.legend {
            PlotLegend::Beside => LegendPlace::Beside,
            PlotLegend::Below => LegendPlace::Below,
            PlotLegend::None => LegendPlace::Nowhere,
        },
    }
}

/// The records to draw. The folder of a sweep stands for its runs, as far as they are done. A record in it that is left of
/// others is no part of it.
pub(crate) fn chosen(asked: &[PathBuf]) -> Result<Vec<Folder>, Failure> {
    let mut records = Vec::new();
    for path in asked {
        let folder = Folder(path.clone());
        if let Some(runs) = listed(&folder)? {
            let all = runs.len();
            let done: Vec<Folder> = runs.into_iter().filter(|run| run.path(Folder::SUMMARY).exists()).collect();
            if done.len() < all {
                output::note(&format!("warning: {}: {} of {all} runs are done", path.display(), done.len()));
            }
            records.extend(done);
        } else if is_left_over(path) {
            output::note(&format!(
                "warning: {} is left out: the sweep beside it has no such run; move it elsewhere to draw it",
                path.display()
            ));
        } else {
            records.push(folder);
        }
    }
    if records.is_empty() {
        return Err(Failure::Plot("there is no record left to draw".to_owned()));
    }
    Ok(records)
}

/// Whether it lies in the folder of a sweep that is not for it.
fn is_left_over(record: &Path) -> bool {
    let Ok(record) = record.canonicalize() else { return false };
    // What stands above need not be Headway's, and a record can be drawn without it.
    let sweep = record.parent().and_then(|parent| listed(&Folder(parent.to_owned())).ok().flatten());
    sweep.is_some_and(|runs| runs.iter().all(|run| run.0 != record))
}

/// The samples, and from when on the run was measured.
pub(crate) fn read(record: &Folder) -> Result<(SeriesTable, f64), Failure> {
    is_record(record)?;
    let wrong = |reason: &str| Failure::record(record.0.clone(), reason);
    if !record.path(Folder::SERIES).exists() {
        return Err(wrong("the run has recorded no series; give its scenario `[record] series = \"100ms\"`"));
    }
    let summary = String::from_utf8_lossy(&record.read(Folder::SUMMARY)?).into_owned();
    let summary = Summary::from_json(&summary).map_err(|error| wrong(&error.to_string()))?;
    Ok((record.series()?, summary.interval.from))
}

pub(crate) fn is_record(folder: &Folder) -> Result<(), Failure> {
    if folder.path(Folder::SUMMARY).exists() {
        return Ok(());
    }
    if folder.is_record() {
        let reason = if folder.is_claimed() {
            "its run is not done: wait for it"
        } else {
            "its run was killed, and left no summary: run it again"
        };
        return Err(Failure::record(folder.0.clone(), reason));
    }
    Err(Failure::record(folder.0.clone(), "this is no record: a folder that `headway run` has left holds summary.json"))
}

/// What the legend calls records: their folders, by their whole paths if two have the same name.
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

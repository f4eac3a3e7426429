//! `headway plot`: draws charts of records, and of datasets of sweeps.

pub(crate) mod over;

use crate::arguments::{PlotFormat, PlotKind, PlotLegend, PlotOptions, PlotPreset, StyleOptions};
use crate::error::Failure;
use crate::output;
use headway_record::plot::{
    Figure, LegendPlace, Run, RunDelays, RunEvents, SequenceError, Style, XAxis, delay_chart, drops_figure,
    frame_chart, is_drawable, sequence_figure, series_figure,
};
use headway_record::{
    EventKind, FIGURE_ENDINGS, Interval, PacketTable, SERIES_FIGURES, SeriesFigure, SeriesTable, Summary, check_label,
};
use headway_run::{Folder, Metric, Places, RUNS, ResultTable, SEED, TraceFormat, listed};
use headway_scenario::choices;
use headway_units::counted;
use over::Over;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) fn plot(options: &PlotOptions) -> Result<(), Failure> {
    if let [path] = &options.records[..] {
        let folder = Folder(path.clone());
        // The folder of a sweep with records has both; time series are the default then.
        let asks = options.only_of_dataset().is_some();
        if folder.path(RUNS).exists() && options.kind.is_none() && (asks || listed(&folder)?.is_none()) {
            return write(&of_dataset(&folder, options)?, options);
        }
    }
    if let Some(option) = options.only_of_dataset() {
        return Err(Failure::Plot(format!("{option} needs the folder of one dataset, written by `headway sweep`")));
    }
    let records = records(&options.records)?;
    let style = style(&options.style);
    let figures = match options.kind.unwrap_or(PlotKind::Series) {
        PlotKind::Series => series(&records, options, &style)?,
        PlotKind::DelayCdf | PlotKind::Frames => delays(&records, options, &style)?,
        PlotKind::Drops => drops(&records, options, &style)?,
        PlotKind::Sequence => sequence(&records, options, &style)?,
    };
    write(&figures, options)
}

/// Returns the charts of a sweep's metrics over one of its keys.
fn of_dataset(folder: &Folder, options: &PlotOptions) -> Result<Vec<Figure>, Failure> {
    if options.complementary {
        return Err(Failure::Plot("--complementary needs --kind delay-cdf or --kind frames".to_owned()));
    }
    check_no_interval(options)?;
    let metrics = Metric::read_all(&options.metrics).map_err(|error| Failure::Plot(format!("--metric {error}")))?;
    let results = ResultTable::of_dataset(folder, &metrics).map_err(|error| match error {
        headway_run::Error::Metric(wrong) => Failure::Plot(format!("--metric {wrong}")),
        other => other.into(),
    })?;
    let results = results.ok_or_else(|| Failure::record(folder.0.clone(), "there is no dataset"))?;
    let keys: Vec<&str> = results.keys.iter().map(|key| key.name.as_str()).collect();
    let by = options.of_sweep.by.as_deref();
    let is_free = |key: &usize| Some(keys[*key]) != by;
    let free = || (0..keys.len()).filter(is_free);
    let first = free().find(|key| results.places(*key) == Places::Numbers).or(free().next());
    let key = options.over.as_deref().or(first.map(|key| keys[key])).unwrap_or(SEED);
    let other = keys.iter().copied().find(|other| *other != key);
    let over = Over {
        option: "--over",
        key,
        by: by.or(other),
        log_x: options.log_x,
        options: &options.of_sweep,
        style: &options.style,
    };
    over.check(&results)?;
    over::charts(&results, &over)
}

/// Returns the charts of time series, or those of `--metric`.
fn series(records: &[Folder], options: &PlotOptions, style: &Style) -> Result<Vec<Figure>, Failure> {
    check_only_of_delays(options)?;
    let mut all = Vec::with_capacity(records.len());
    for (folder, label) in records.iter().zip(labels(records)) {
        let (series, interval) = read(folder)?;
        let interval = drawn(interval, options)?;
        let samples = series.iter().flat_map(|(.., samples)| samples);
        let omitted = samples.filter(|(_, value)| !is_drawable(*value)).count() as u64;
        if omitted > 0 {
            let samples = counted(omitted, "sample");
            output::note(&format!("warning: {label}: the charts omit {samples} (not a number, or above 10^15)"));
        }
        all.push((label, series, interval));
    }
    let runs: Vec<_> = all.iter().map(|(label, series, interval)| Run { label, series, interval: *interval }).collect();
    let known = || SERIES_FIGURES.iter().map(|figure| figure.name);
    if let Some(wrong) = options.metrics.iter().find(|name| !known().any(|known| known == **name)) {
        return Err(Failure::Plot(format!("--metric: there is no time series \"{wrong}\"{}", choices(wrong, known()))));
    }
    let is_wanted =
        |figure: &&SeriesFigure| options.metrics.is_empty() || options.metrics.iter().any(|name| name == figure.name);
    let wanted = SERIES_FIGURES.iter().filter(is_wanted);
    let figures = wanted.filter_map(|figure| series_figure(figure, &runs, style).transpose());
    let figures: Vec<Figure> = figures.collect::<Result<_, _>>().map_err(|error| Failure::Plot(error.to_string()))?;
    if let Some(none) = options.metrics.iter().find(|name| figures.iter().all(|figure| figure.name != **name)) {
        return Err(Failure::Plot(format!("--metric {none}: the records have no samples of it")));
    }
    if figures.is_empty() {
        return Err(Failure::Plot("the time series have no samples in this time".to_owned()));
    }
    Ok(figures)
}

/// Returns the simulated time to draw, in s: the measured interval, or that of `--from` and `--to`.
fn drawn(interval: Interval, options: &PlotOptions) -> Result<Interval, Failure> {
    let [from, to] = [options.from, options.to].map(|at| at.map(|at| at.as_secs_f64()));
    interval.part(from, to).ok_or_else(|| {
        let Interval { from: start, to: end } = interval;
        Failure::Plot(format!(
            "--from and --to: expected a start before the end and before the end of the run, {end} s; the start is {} \
             s, the end {} s",
            from.unwrap_or(start),
            to.unwrap_or(end)
        ))
    })
}

fn check_no_interval(options: &PlotOptions) -> Result<(), Failure> {
    if options.from.is_none() && options.to.is_none() {
        return Ok(());
    }
    Err(Failure::Plot("--from and --to apply to time series, --kind drops and --kind sequence only".to_owned()))
}

fn check_only_of_delays(options: &PlotOptions) -> Result<(), Failure> {
    let given = [(options.log_x, "--log-x"), (options.complementary, "--complementary")];
    match given.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(Failure::Plot(format!("{option} needs --kind delay-cdf or --kind frames"))),
        None => Ok(()),
    }
}

fn check_no_metric(options: &PlotOptions) -> Result<(), Failure> {
    if options.metrics.is_empty() {
        return Ok(());
    }
    Err(Failure::Plot("--metric applies to --kind series only; remove --metric or --kind".to_owned()))
}

/// Returns the chart of dropped packets by cause.
fn drops(records: &[Folder], options: &PlotOptions, style: &Style) -> Result<Vec<Figure>, Failure> {
    check_only_of_delays(options)?;
    check_no_metric(options)?;
    let mut all = Vec::with_capacity(records.len());
    for (folder, label) in records.iter().zip(labels(records)) {
        let interval = drawn(summary(folder)?.interval, options)?;
        if !folder.path(Folder::EVENTS).exists() {
            let reason = "the record has no events; run the scenario again without `record.series = false`";
            return Err(Failure::record(folder.0.clone(), reason));
        }
        let events = folder.events()?;
        for kind in [EventKind::Drop, EventKind::Unsent] {
            let omitted = events.omitted(kind);
            if omitted > 0 {
                let (drops, file) = (counted(omitted, "event"), Folder::EVENTS);
                output::note(&format!("warning: {label}: the chart omits {drops} that {file} does not contain"));
            }
        }
        all.push((label, events, interval));
    }
    let runs = all.iter().map(|(label, events, interval)| RunEvents { label, events, interval: *interval });
    let runs: Vec<RunEvents<'_>> = runs.collect();
    let figure = drops_figure(&runs, style).map_err(|error| Failure::Plot(error.to_string()))?;
    let figure = figure.ok_or_else(|| Failure::Plot("no packet was dropped in this time".to_owned()))?;
    for run in runs.iter().filter(|run| !run.has_drops()) {
        output::note(&format!("warning: {}: no packet was dropped in this time", run.label));
    }
    Ok(vec![figure])
}

/// Returns the time-sequence graph of a record.
fn sequence(records: &[Folder], options: &PlotOptions, style: &Style) -> Result<Vec<Figure>, Failure> {
    check_only_of_delays(options)?;
    check_no_metric(options)?;
    let [record] = records else {
        return Err(Failure::Plot("--kind sequence draws the packets of one record".to_owned()));
    };
    let mut summary = summary(record)?;
    summary.interval = drawn(summary.interval, options)?;
    let name = TraceFormat::Packets.file();
    if !record.path(name).exists() {
        let reason = "the record has no packet trace; run the scenario again with `--trace packets`";
        return Err(Failure::record(record.0.clone(), reason));
    }
    let wrong = |error: SequenceError| match error {
        SequenceError::Packets(error) => Failure::record(record.path(name), error),
        SequenceError::Plot(error) => Failure::Plot(error.to_string()),
    };
    let bytes = record.read_checked(name)?;
    let packets = PacketTable::from_ipc(&bytes).map_err(|error| wrong(error.into()))?;
    let figure = sequence_figure(&label(&record.0), &packets, &summary, style).map_err(wrong)?;
    Ok(vec![figure.ok_or_else(|| {
        Failure::Plot(format!("no packet was sent from {} s to {} s", summary.interval.from, summary.interval.to))
    })?])
}

/// Returns the chart of packet or frame delays.
fn delays(records: &[Folder], options: &PlotOptions, style: &Style) -> Result<Vec<Figure>, Failure> {
    check_no_metric(options)?;
    check_no_interval(options)?;
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
    x_label.map_or(Ok(()), |label| check_label(label, "s")).map_err(|error| Failure::Plot(error.to_string()))?;
    let (chart, error) = match options.kind {
        Some(PlotKind::Frames) => (frame_chart(&runs, x, options.complementary, x_label), "no flow has frames"),
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
    check_style(figures, &options.style);
    for figure in figures {
        for path in write_figure(figure, &out, &options.style.formats)? {
            output::text(&path)?;
        }
    }
    Ok(())
}

/// Writes a figure in some formats, or in all if there are none. Returns the paths.
pub(crate) fn write_figure(figure: &Figure, out: &Folder, formats: &[PlotFormat]) -> Result<Vec<String>, Failure> {
    let mut paths = Vec::new();
    let is_wanted = |ending: &str| formats.is_empty() || formats.iter().any(|format| format.ending() == ending);
    for ending in FIGURE_ENDINGS.into_iter().filter(|ending| is_wanted(ending)) {
        let bytes = figure.file(ending).map_err(|error| Failure::Plot(error.to_string()))?;
        let name = format!("{}.{ending}", figure.name);
        out.write(&name, &bytes.unwrap_or_default())?;
        paths.push(out.path(&name).display().to_string());
    }
    Ok(paths)
}

/// Warns of parts of the style without an effect.
pub(crate) fn check_style(figures: &[Figure], options: &StyleOptions) {
    let Style { width, height, .. } = style(options);
    let largest = width.min(height.unwrap_or(width)) / 20.0;
    if let Some(size) = options.font_size.filter(|size| *size > largest) {
        output::note(&format!("warning: --font-size {size}: the size of the chart reduces it to {largest} px"));
    }
    for (label, text) in &options.names {
        let escaped = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&apos;")];
        let escaped = escaped.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to));
        // Lines that are no tags are text.
        let texts = || figures.iter().flat_map(|figure| figure.svg.lines()).filter(|line| !line.starts_with('<'));
        if !texts().any(|line| line.contains(&escaped)) {
            output::note(&format!("warning: --name {label}={text}: no label is \"{label}\""));
        }
    }
}

pub(crate) fn style(options: &StyleOptions) -> Style {
    let default = Style::default();
    let size = options.size.or(options.preset.map(PlotPreset::size));
    let legend =
        options.legend.unwrap_or(if options.preset.is_some() { PlotLegend::Below } else { PlotLegend::Outside });
    Style {
        title: options.title.clone().or(options.preset.map(|_| String::new())),
        x_title: options.x_label.clone(),
        y_title: options.y_label.clone(),
        width: size.map_or(default.width, |size| size.width),
        height: size.map(|size| size.height),
        font_size: options.font_size.or(options.preset.map(|_| PlotPreset::FONT_SIZE)).unwrap_or(default.font_size),
        legend: match legend {
            PlotLegend::Outside => LegendPlace::Right,
            PlotLegend::Below => LegendPlace::Below,
            PlotLegend::None => LegendPlace::Hidden,
        },
        names: options.names.clone(),
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
    let mut known = BTreeSet::new();
    records.retain(|record| {
        let is_new = known.insert(record.0.canonicalize().unwrap_or_else(|_| record.0.clone()));
        if !is_new {
            output::note(&format!("warning: {} is named twice and drawn once", record.0.display()));
        }
        is_new
    });
    Ok(records)
}

/// Returns whether the record is in the folder of a sweep that does not include it.
fn is_stale(record: &Path) -> bool {
    let Ok(record) = record.canonicalize() else { return false };
    // The parent folder may belong to another program. Errors of its list of runs do not matter here.
    let sweep = record.parent().and_then(|parent| listed(&Folder(parent.to_owned())).ok().flatten());
    sweep.is_some_and(|runs| runs.iter().all(|run| run.0 != record))
}

/// Returns the time series of a record and its measured interval.
pub(crate) fn read(record: &Folder) -> Result<(SeriesTable, Interval), Failure> {
    check_record(record)?;
    if !record.path(Folder::SERIES).exists() {
        let reason = "the record has no time series; set `[record] series = \"100ms\"` in the scenario";
        return Err(Failure::record(record.0.clone(), reason));
    }
    let interval = summary(record)?.interval;
    Ok((record.series()?, interval))
}

/// Returns the summary of a complete record.
fn summary(record: &Folder) -> Result<Summary, Failure> {
    check_record(record)?;
    let text = String::from_utf8_lossy(&record.read_checked(Folder::SUMMARY)?).into_owned();
    Summary::from_json(&text).map_err(|error| Failure::record(record.0.clone(), error))
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
    if folder.path(RUNS).exists() {
        let reason = "this is the dataset of a sweep without records; `headway plot` draws it alone and without --kind, \
                      and `headway sweep --records` keeps the records";
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

//! Figures, drawn as by `headway plot`.

use crate::record::Record;
use headway_record::plot::{
    Figure as Drawn, LegendPlace, PlotError, Points, Run, RunDelays, RunEvents, SequenceError, Style, XAxis,
    delay_chart, drop_lines, drops_figure, frame_chart, sequence_figure, sequence_marks, series_figure, series_lines,
};
use headway_record::{
    DROPS_FIGURE, EventTable, FIGURE_ENDINGS, Interval, PacketTable, SEQUENCE_FIGURE, SERIES_FIGURES, SeriesFigure,
    SeriesTable, Summary, check_label, figure_names,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// A figure as SVG.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Figure(pub(crate) Drawn);

#[pymethods]
impl Figure {
    /// Returns the name of the figure.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the figure as SVG.
    #[getter]
    fn svg(&self) -> &str {
        &self.0.svg
    }

    /// Returns the figure as PNG with `scale` pixels for each px, from 0.1 to 8.
    fn png<'py>(&self, py: Python<'py>, scale: f32) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_png(scale).map_err(wrong)?))
    }

    /// Returns the figure as PDF with an embedded font.
    fn pdf<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_pdf().map_err(wrong)?))
    }

    /// Writes the figure in the format of the ending: svg, png or pdf.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let Some(bytes) = self.0.file(ending).map_err(wrong)? else {
            let expected = FIGURE_ENDINGS.map(|ending| format!(".{ending}")).join(" or ");
            return Err(PyValueError::new_err(format!("{}: expected the ending {expected}", path.display())));
        };
        Ok(std::fs::write(path, bytes)?)
    }
}

/// Size in px, text size in px, titles, position of the legend, and names that replace labels.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Look {
    size: Option<(f64, f64)>,
    font_size: f64,
    title: Option<String>,
    x_label: Option<String>,
    y_label: Option<String>,
    legend: String,
    names: Vec<(String, String)>,
}

impl Look {
    pub(crate) fn style(self) -> PyResult<Style> {
        let legend = match self.legend.as_str() {
            "outside" => LegendPlace::Right,
            "below" => LegendPlace::Below,
            "none" => LegendPlace::Hidden,
            other => {
                let message = format!("legend is \"{other}\"; expected \"outside\", \"below\" or \"none\"");
                return Err(PyValueError::new_err(message));
            }
        };
        Ok(Style {
            title: self.title,
            x_title: self.x_label,
            y_title: self.y_label,
            width: self.size.map_or(Style::default().width, |(width, _)| width),
            height: self.size.map(|(_, height)| height),
            font_size: self.font_size,
            legend,
            names: self.names,
        })
    }
}

/// Returns the names of all figures of a record.
#[pyfunction]
pub(crate) fn figure_names_of_records() -> Vec<&'static str> {
    figure_names().collect()
}

fn series_figure_of(name: &str) -> Option<&'static SeriesFigure> {
    SERIES_FIGURES.iter().find(|figure| figure.name == name)
}

/// Start and end of the time to draw, in s.
type Time = (Option<f64>, Option<f64>);
/// Labels and records.
type Records<'py> = Vec<(String, PyRef<'py, Record>)>;

/// Draws a figure of records; `None` if they have no values for it.
#[pyfunction]
pub(crate) fn draw(records: Records<'_>, name: &str, time: Time, look: Look) -> PyResult<Option<Figure>> {
    let style = look.style()?;
    let drawn = if let Some(figure) = series_figure_of(name) {
        let tables = tables(&records)?;
        series_figure(figure, &runs(&records, &tables, time)?, &style).map_err(wrong)?
    } else if name == DROPS_FIGURE {
        let events = events(&records)?;
        drops_figure(&run_events(&records, &events, time)?, &style).map_err(wrong)?
    } else if name == SEQUENCE_FIGURE {
        let (label, packets, summary) = packets(&records, time)?;
        sequence_figure(label, &packets, &summary, &style).map_err(damaged)?
    } else {
        if time != (None, None) {
            return Err(PyValueError::new_err(format!("time applies to figures over time only, not to {name}")));
        }
        let distributions = records.iter().map(|(label, record)| {
            let distributions = record.read_distributions()?;
            let missing =
                || format!("{label} has no distributions; set record={{\"distributions\": True}} in its scenario");
            distributions.ok_or_else(|| PyValueError::new_err(missing()))
        });
        let distributions = distributions.collect::<PyResult<Vec<_>>>()?;
        let of = records.iter().zip(&distributions);
        let runs: Vec<_> = of.map(|((label, _), distributions)| RunDelays { label, distributions }).collect();
        let checked = style.x_title.as_deref().map_or(Ok(()), |label| check_label(label, "s"));
        checked.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let draw = if name == "frames" { frame_chart } else { delay_chart };
        let chart = draw(&runs, XAxis::Numbers, false, style.x_title.as_deref());
        chart.map(|chart| chart.draw_styled(&style)).transpose().map_err(wrong)?
    };
    Ok(drawn.map(Figure))
}

/// Label, times in s and values of a line.
type Line = (String, Vec<f64>, Vec<f64>);

/// Returns the title of the vertical axis and the lines of a figure over time.
#[pyfunction]
pub(crate) fn lines(records: Records<'_>, name: &str, time: Time) -> PyResult<(String, Vec<Line>)> {
    let found = if let Some(figure) = series_figure_of(name) {
        let tables = tables(&records)?;
        series_lines(figure, &runs(&records, &tables, time)?)
    } else if name == DROPS_FIGURE {
        let events = events(&records)?;
        drop_lines(&run_events(&records, &events, time)?)
    } else if name == SEQUENCE_FIGURE {
        let (_, packets, summary) = packets(&records, time)?;
        sequence_marks(&packets, &summary).map_err(damaged)?
    } else {
        return Err(PyValueError::new_err(format!("{name} is not a figure over time")));
    };
    let line = |(label, points): (String, Points)| {
        let (times, values) = points.into_iter().unzip();
        (label, times, values)
    };
    Ok((found.y_title, found.lines.into_iter().map(line).collect()))
}

fn tables(records: &Records<'_>) -> PyResult<Vec<SeriesTable>> {
    records.iter().map(|(_, record)| record.series_table()).collect()
}

fn runs<'a>(records: &'a Records<'_>, tables: &'a [SeriesTable], time: Time) -> PyResult<Vec<Run<'a>>> {
    let run = |((label, record), series): (&'a (String, PyRef<'_, Record>), &'a SeriesTable)| {
        Ok(Run { label, series, interval: interval(record.summary(), time)? })
    };
    records.iter().zip(tables).map(run).collect()
}

fn events(records: &Records<'_>) -> PyResult<Vec<EventTable>> {
    let events = records.iter().map(|(label, record)| {
        record.read_events()?.ok_or_else(|| PyValueError::new_err(format!("{label} has no events")))
    });
    events.collect()
}

fn run_events<'a>(records: &'a Records<'_>, events: &'a [EventTable], time: Time) -> PyResult<Vec<RunEvents<'a>>> {
    let run = |((label, record), events): (&'a (String, PyRef<'_, Record>), &'a EventTable)| {
        Ok(RunEvents { label, events, interval: interval(record.summary(), time)? })
    };
    records.iter().zip(events).map(run).collect()
}

/// Returns the label and the packets of the only record, and its summary with the time to draw.
fn packets<'a>(records: &'a Records<'_>, time: Time) -> PyResult<(&'a str, PacketTable<'a>, Summary)> {
    let [(label, record)] = &records[..] else {
        return Err(PyValueError::new_err("the figure sequence shows one record"));
    };
    let missing = || format!("{label} has no packet trace; give trace=\"packets\" to run()");
    let packets = record.packet_table(record.py())?.ok_or_else(|| PyValueError::new_err(missing()))?;
    let interval = interval(record.summary(), time)?;
    Ok((label, packets, Summary { interval, ..record.summary().clone() }))
}

/// Returns the time to draw of a run.
fn interval(summary: &Summary, (from, to): Time) -> PyResult<Interval> {
    summary.interval.part(from, to).ok_or_else(|| {
        let Interval { from: start, to: end } = summary.interval;
        let (from, to) = (from.unwrap_or(start), to.unwrap_or(end));
        PyValueError::new_err(format!(
            "time: expected a start before the end and before the end of the run, {end} s; the start is {from} s, the \
             end {to} s"
        ))
    })
}

fn damaged(error: SequenceError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub(crate) fn wrong(error: PlotError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

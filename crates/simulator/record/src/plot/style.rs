//! Styles of figures: titles, size and legend.

/// Style of figures. The default is 960 px wide, with text of 13 px and the legend at the right.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// Title of the figure, instead of the default one; an empty text draws no title.
    pub title: Option<String>,
    /// Title of the horizontal axis, instead of the default one.
    pub x_title: Option<String>,
    /// Title of the vertical axis, instead of the default one.
    pub y_title: Option<String>,
    /// Width of the figure in px (1/96 inch), from 200 to 4000; values outside are clamped.
    pub width: f64,
    /// Height of the figure in px (1/96 inch), from 200 to 4000, and at least the height that the text needs; `None`
    /// for the default of the figure.
    pub height: Option<f64>,
    /// Text size of tick labels and legend in px, from 6 to a twentieth of the figure's shorter side (of its width if
    /// `height` is `None`). Titles are larger in proportion.
    pub font_size: f64,
    /// Position of the legend.
    pub legend: LegendPlace,
    /// Texts that replace labels of lines, panels and categories, and headings of legends. A label of several parts, such
    /// as `run: flow`, is replaced part by part.
    pub names: Vec<(String, String)>,
}

impl Style {
    /// Returns the text that replaces a label.
    pub(super) fn named(&self, label: &str) -> String {
        let named = |text: &str| self.names.iter().find(|(from, _)| from == text).map(|(_, to)| to.clone());
        named(label).unwrap_or_else(|| {
            let parts = label.split(": ").map(|part| named(part).unwrap_or_else(|| part.to_owned()));
            parts.collect::<Vec<_>>().join(": ")
        })
    }
}

impl Default for Style {
    fn default() -> Self {
        Self {
            title: None,
            x_title: None,
            y_title: None,
            width: 960.0,
            height: None,
            font_size: 13.0,
            legend: LegendPlace::Right,
            names: Vec::new(),
        }
    }
}

/// Position of a legend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegendPlace {
    /// The legend is a column at the right of the plot.
    #[default]
    Right,
    /// The legend is in rows below the plot, which then has the whole width.
    Below,
    /// The figure has no legend.
    Hidden,
}

//! Styles of figures: titles, size and legend.

/// Style of figures. The default is 960 px wide, with text of 13 px and the legend at the right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Title, instead of the default one; empty for none.
    pub title: Option<String>,
    /// Title of the horizontal axis, instead of the default one.
    pub x_title: Option<String>,
    /// Title of the vertical axis, instead of the default one.
    pub y_title: Option<String>,
    /// Width in px, from 200 to 4000; values outside are clamped.
    pub width: u32,
    /// Height in px, from 200 to 4000, and at least the height that the text needs; `None` for the default of the
    /// figure.
    pub height: Option<u32>,
    /// Text size of tick labels and legend in px, from 6 to a twentieth of the figure's shorter side. Titles are larger
    /// in proportion.
    pub font_size: u32,
    /// Position of the legend.
    pub legend: LegendPlace,
}

impl Default for Style {
    fn default() -> Self {
        let (title, x_title, y_title, height) = (None, None, None, None);
        Self { title, x_title, y_title, width: 960, height, font_size: 13, legend: LegendPlace::Right }
    }
}

/// Position of a legend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegendPlace {
    /// Column at the right of the plot.
    #[default]
    Right,
    /// Rows below the plot, which then has the whole width.
    Below,
    /// No legend.
    Hidden,
}

//! How a picture looks: what stands beside it, how large it is.

/// How pictures look. The default is 960 px wide, with words of 13 px and the legend beside the plot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// What stands above, instead of the picture's own title; empty for nothing, as where a paper has a caption.
    pub title: Option<String>,
    /// What stands below the horizontal axis, instead of the picture's own words.
    pub x_title: Option<String>,
    /// What stands beside the vertical axis, instead of the picture's own words.
    pub y_title: Option<String>,
    /// In px, from 200 to 4000; what is outside counts as the nearest within.
    pub width: u32,
    /// In px, from 200 to 4000; what the picture takes if none. A picture is never lower than its words need.
    pub height: Option<u32>,
    /// Of the numbers at the axes and the words of the legend, in px; titles are larger in proportion. From 6 to a twentieth of the
    /// picture's shorter side.
    pub font_size: u32,
    /// Where the legend is.
    pub legend: LegendPlace,
}

impl Default for Style {
    fn default() -> Self {
        let (title, x_title, y_title, height) = (None, None, None, None);
        Self { title, x_title, y_title, width: 960, height, font_size: 13, legend: LegendPlace::Beside }
    }
}

/// Where a legend is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegendPlace {
    /// In a column at the right.
    #[default]
    Beside,
    /// In rows below the plot, which then has the whole width.
    Below,
    /// Nowhere: the words around the picture say it.
    Nowhere,
}

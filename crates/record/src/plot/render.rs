//! From SVG to PNG, with a font that is built in: no picture depends on what a machine has installed.

use super::PlotError;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

pub(super) fn png(name: &str, svg: &str, scale: f32) -> Result<Vec<u8>, PlotError> {
    let failed = |why: String| PlotError::Render { name: name.to_owned(), why };
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    // Ubuntu Light, under the Ubuntu Font Licence 1.0.
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let family = fonts.faces().next().and_then(|face| face.families.first()).map(|(family, _)| family.clone());
    fonts.set_sans_serif_family(family.ok_or_else(|| failed("the built-in font is unreadable".to_owned()))?);
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(error.to_string()))?;
    let scale = if scale.is_finite() { scale.clamp(0.1, 8.0) } else { 1.0 };
    let size = tree.size().to_int_size().scale_by(scale).ok_or_else(|| failed("it has no size".to_owned()))?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or_else(|| failed("it is too large".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(error.to_string()))
}

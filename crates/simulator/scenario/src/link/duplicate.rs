//! `duplicate` of a `[[link]]`: random duplication of packets.

use crate::reader::Open;
use crate::vocabulary::VOCABULARY;
use headway_link::DuplicateOptions;
use headway_units::Probability;

pub(crate) fn read(table: &mut Open<'_, '_>) -> Option<DuplicateOptions> {
    let value = table.value("duplicate")?;
    let path = table.path.key("duplicate");
    let mut table = table.reader.open(value, &path, &VOCABULARY.duplicate)?;
    let (probability, correlation) = (table.required("probability", "\"1%\""), table.optional("correlation"));
    let options = DuplicateOptions { probability: probability?, correlation: correlation.unwrap_or(Probability::ZERO) };
    if let Err(error) = options.check() {
        table.wrong(error.key, error.message);
    }
    Some(options)
}
